//go:build linux

package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/raftlog"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// twoLives restores a restored cluster from a backup, and lets two members of it return on other hosts. The two clusters cannot reach
// each other at first, and both issue. An operator of the old one supersedes the new one, which must not believe it. Later the new one
// stops, and its operator supersedes the old one.
func twoLives() Scenario {
	return Scenario{
		Name: "two-lives", Source: "known from systems that are restored while the old one comes back",
		Bugs:  []string{"windows-despite-old-cluster", "relatives-are-siblings", "descent-not-compared"},
		Other: "An old cluster that returned next to the restored one issued the same numbers",
		Loads: []string{"ids"}, MaxWindow: restoredWindow, Secured: true, Twins: 2, judge: check.JudgeTwoLives,
		script: func(s *stage) error {
			r := &returned{s: s, old: s.Lab.Twins(), young: s.Lab.Founders()}
			for _, step := range []func() error{r.begin, r.restore, r.comeBack, r.mistake, r.meet, r.silent, r.unbelieved, r.supersede} {
				if err := step(); err != nil || r.wrong {
					return err
				}
			}
			return nil
		},
	}
}

// returned are the old cluster and the one that was restored from its backup.
type returned struct {
	s            *stage
	old, young   []*lab.Member
	cluster      string // ID of the old one
	life         int    // number of the old one
	given, later *taker // numbers of the old cluster after its return, and of the new one
	unite        func() error
	end          func()
	wrong        bool
}

// begin restores the first cluster, because only a restored one can supersede others.
func (r *returned) begin() error {
	s := r.s
	if err := s.strict(block); err != nil {
		return err
	}
	r.later = s.take(r.young...)
	if err := s.more(r.later, 100); err != nil {
		return err
	}
	backup, err := s.faults.Backup(s.ctx, nemesis.FromMember, r.young[0])
	if err != nil {
		return err
	}
	return s.reborn(backup, r.young[0])
}

// restore backs up the cluster, ends it, and restores it. It keeps the directories of two members.
func (r *returned) restore() error {
	s := r.s
	v, err := s.look(s.endpoint(r.young[0]), nil)
	if err != nil {
		return err
	}
	r.cluster, r.life = v.cluster, s.Lab.Life()
	if err := s.more(r.later, 100); err != nil {
		return err
	}
	backup, err := s.faults.Backup(s.ctx, nemesis.FromMember, r.young[0])
	if err != nil {
		return err
	}
	if err := s.more(r.later, 100); err != nil {
		return err
	}
	s.faults.End()
	for i, m := range r.old {
		m.Damaged(true) // another life's log, which is not harvested
		if err := disk.CopyDir(r.young[i].Files(), m.Side()); err != nil {
			return err
		}
	}
	if err := r.harvest(check.BranchCopied, (*lab.Member).Side); err != nil {
		return err
	}
	return s.reborn(backup, r.young[0])
}

// comeBack starts two members of the old cluster, and waits until both clusters have issued.
func (r *returned) comeBack() error {
	s := r.s
	r.end = s.begin(check.FaultTwoLives, nemesis.Restore, 0, "the old cluster returns", r.old...)
	var some, others []string
	for _, m := range r.old {
		some = append(some, m.Name)
	}
	for _, m := range r.young {
		others = append(others, m.Name)
	}
	cut, err := s.Lab.Net.Cut(s.ctx, network.Between(some, others), network.All, network.Drop)
	if err != nil {
		return err
	}
	r.unite = s.later(cut.Heal)
	for _, m := range r.old {
		if err := errors.Join(disk.CopyDir(m.Side(), m.Files()), disk.Wipe(m.Side())); err != nil {
			return err
		}
		m.Seek(0, r.old...)
	}
	_ = s.later(func(context.Context) error { down(r.old); return nil })
	if err := lab.Start(s.ctx, r.old...); err != nil {
		return err
	}
	if _, _, err := s.leader(0, r.old...); err != nil {
		return err
	}
	r.given = s.take(r.old...)
	return errors.Join(s.more(r.given, 100), s.more(r.later, 100))
}

// mistake supersedes the new cluster from the old one.
func (r *returned) mistake() error {
	s := r.s
	v, err := s.look(s.endpoint(r.young[0]), nil)
	if err != nil {
		return err
	}
	leader, _, err := s.leader(0, r.old...)
	if err != nil {
		return err
	}
	conn, err := s.conn(leader)
	if err != nil {
		return err
	}
	return s.until("the word of the old cluster", func(ctx context.Context) bool {
		_, err := snowraftv1.NewOperationsServiceClient(conn).Supersede(ctx, &snowraftv1.SupersedeRequest{ClusterId: v.cluster})
		return err == nil
	})
}

// meet lets the clusters reach each other, and waits until all members of the new one hear the old one.
func (r *returned) meet() error {
	s := r.s
	if err := r.unite(); err != nil {
		return err
	}
	begun := history.Now()
	heard := make(map[*lab.Member]bool)
	for len(heard) < len(r.young) && history.Now()-begun < int64(reachWithin) {
		for _, m := range r.young {
			got, err := s.status(s.ctx, m)
			if err != nil || heard[m] || got.GetRestoration().GetOldClusterAlive() == "" {
				continue
			}
			heard[m] = true
			s.Lab.Note(m.Name, history.NoteHeard, got.GetRestoration().GetOldClusterAlive())
		}
		if !history.Sleep(s.ctx, pollEvery) {
			return s.ctx.Err()
		}
	}
	if len(heard) < len(r.young) {
		r.violation("%d of %d members of the restored cluster heard the old one within %v", len(heard), len(r.young), reachWithin)
		return nil
	}
	s.see("all members of the restored cluster heard the old one after %v", time.Duration(history.Now()-begun).Round(100*time.Millisecond))
	return nil
}

// silent calls both clusters for some time. The old one issues on; the checker finds the calls of the new one that succeeded.
func (r *returned) silent() error {
	s := r.s
	begun := history.Now()
	var before int64 // answers of the old cluster in the first half, some of them from blocks that it held
	for passed := time.Duration(0); passed < 3*time.Second; passed = time.Duration(history.Now() - begun) {
		if passed < 1500*time.Millisecond {
			before = r.given.answers.Load()
		}
		for _, m := range r.young {
			s.client.IDs(s.ctx, m, "", 10, 0)
		}
		if !history.Sleep(s.ctx, pollEvery) {
			return s.ctx.Err()
		}
	}
	if r.given.answers.Load() == before {
		r.violation("the old cluster stopped, although only its successor must")
	}
	return nil
}

// unbelieved checks that no member of the new cluster halted on the word of the old one.
func (r *returned) unbelieved() error {
	for _, m := range r.young {
		if m.Failures() > 0 {
			r.violation("%s halted on the word of an operator of the older cluster", m.Name)
		}
	}
	return nil
}

// supersede ends the old cluster. Its members halt, and the new cluster issues again.
func (r *returned) supersede() error {
	s := r.s
	if _, err := s.Lab.Command(s.ctx, "cluster", "supersede", r.cluster, "--yes"); err != nil {
		return err
	}
	r.end()
	err := s.until("the end of the old cluster", func(context.Context) bool {
		return r.old[0].Failures() > 0 && r.old[1].Failures() > 0
	})
	if err != nil && s.ctx.Err() == nil {
		r.violation("the members of the old cluster did not halt within %v", reachWithin)
	}
	if err != nil {
		return err
	}
	ended := history.Now()
	down(r.old)
	if err := r.harvest(check.BranchOld, (*lab.Member).Files); err != nil {
		return err
	}
	if err := s.more(r.later, 100); err != nil {
		return err
	}
	s.see("the old members halted, and the restored cluster issued again %v later", time.Duration(history.Now()-ended).Round(time.Second))
	return nil
}

// harvest archives the logs of the old members as those of a branch.
func (r *returned) harvest(branch string, dir func(*lab.Member) string) error {
	archive, err := raftlog.CreateBranch(r.s.Dir, branch, r.life)
	if err != nil {
		return err
	}
	for _, m := range r.old {
		_, failed := archive.Harvest(m.Name, history.Now(), dir(m))
		err = errors.Join(err, failed)
	}
	return errors.Join(err, archive.Close())
}

// violation records a violation, and ends the script.
func (r *returned) violation(format string, args ...any) {
	r.wrong = true
	r.s.violation(format, args...)
}
