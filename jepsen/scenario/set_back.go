//go:build linux

package scenario

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// stopped is part of the line that a member logs once it issues nothing more. The third member, which the new leader contradicts,
// does not apply the seal.
const stopped = "issuing nothing from now on"

// setBackMajority replaces the directories of a majority by earlier copies while the third member is cut off, and reunites
// the members. The third member restarts before, so that it knows only what its disk kept.
func setBackMajority() Scenario {
	return Scenario{
		Name: "set-back", Source: "known from replicated systems whose machines are restored from snapshots", Bug: "watermark-not-kept",
		Other: "A majority that was restored from snapshots elected a leader of the same term, and issued numbers again",
		Loads: []string{"ids"}, MaxWindow: restoredWindow, Secured: true, judge: check.JudgeSetBack,
		script: func(s *stage) error {
			leader, _, err := s.leader(0, s.Lab.Founders()...)
			if err != nil {
				return err
			}
			rest := s.others(leader)
			t := &travel{s: s, hit: []*lab.Member{leader, rest[0]}, third: rest[1], archives: make(map[string]*raftlog.Archive)}
			defer t.close()
			for _, step := range []func() error{t.copy, t.outrun, t.replace, t.reunite, t.silent, t.goOn} {
				if err := step(); err != nil || t.unsealed {
					return err
				}
			}
			return nil
		},
	}
}

// travel sets the members hit back in time, and not the third.
type travel struct {
	s        *stage
	hit      []*lab.Member
	third    *lab.Member
	numbers  *taker
	archives map[string]*raftlog.Archive // keyed by branch
	unite    func() error
	unsealed bool
}

// copy copies the directories of the majority at one moment.
func (t *travel) copy() error {
	s := t.s
	if err := s.strict(100); err != nil {
		return err
	}
	t.numbers = s.take(s.Lab.Founders()...)
	if err := s.more(t.numbers, 100); err != nil {
		return err
	}
	for _, m := range t.hit {
		defer s.pause(m)() //nolint:errcheck // continuing a process does not fail
	}
	for _, m := range t.hit {
		if err := disk.CopyDir(m.Files(), m.Side()); err != nil {
			return err
		}
		if err := t.harvest(check.BranchCopied, m, m.Side()); err != nil {
			return err
		}
	}
	return nil
}

// outrun lets the cluster continue until the third member has committed numbers beyond the copies, and cuts that member off.
func (t *travel) outrun() error {
	s := t.s
	var copied uint64
	err := s.until("the status of "+t.third.Name, func(ctx context.Context) bool {
		got, err := s.status(ctx, t.third)
		copied = got.GetCommitIndex()
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := s.more(t.numbers, 200); err != nil {
		return err
	}
	err = s.until("entries of "+t.third.Name+" beyond the copies", func(ctx context.Context) bool {
		got, err := s.status(ctx, t.third)
		return err == nil && got.GetCommitIndex() > copied+1
	})
	if err != nil {
		return err
	}
	t.unite, err = s.isolate(t.third)
	return err
}

// replace replaces the directories of the majority by the copies. The majority issues numbers again, and the third member
// restarts.
func (t *travel) replace() error {
	s := t.s
	end := s.begin(check.FaultSetBack, nemesis.Process, 0, t.third.Name+" is not set back", t.hit...)
	heal := t.unite
	t.unite = func() error { defer end(); return heal() }
	down(t.hit)
	for _, m := range t.hit {
		if err := t.harvest(check.BranchOld, m, m.Files()); err != nil {
			return err
		}
		if err := errors.Join(disk.CopyDir(m.Side(), m.Files()), disk.Wipe(m.Side()), m.Start(s.ctx)); err != nil {
			return err
		}
	}
	if _, _, err := s.leader(0, t.hit...); err != nil {
		return err
	}
	if err := s.more(t.numbers, 50); err != nil {
		return err
	}
	start := s.kill(t.third)
	if err := t.harvest(check.BranchOld, t.third, t.third.Files()); err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	return s.until("the status of "+t.third.Name, func(ctx context.Context) bool {
		_, err := s.status(ctx, t.third)
		return err == nil
	})
}

// reunite lets the members reach each other, and waits until all of them are sealed.
func (t *travel) reunite() error {
	s, founders := t.s, t.s.Lab.Founders()
	if err := t.unite(); err != nil {
		return err
	}
	begun := history.Now()
	sealed, reason := make(map[*lab.Member]bool), ""
	for len(sealed) < len(founders) && history.Now()-begun < int64(reachWithin) {
		for _, m := range founders {
			got, err := s.status(s.ctx, m)
			if err != nil || sealed[m] {
				continue
			}
			said, err := m.Logged(stopped)
			if err != nil {
				return err
			}
			if said == 0 || got.GetSealed() == nil && m != t.third {
				continue
			}
			sealed[m] = true
			s.Lab.Note(m.Name, history.NoteSealed, got.GetProblem())
			if got.GetSealed() != nil {
				reason = got.GetSealed().GetReason()
			}
		}
		if !history.Sleep(s.ctx, pollEvery) {
			return s.ctx.Err()
		}
	}
	if len(sealed) < len(founders) {
		t.unsealed = true
		s.violation("%d of %d members were sealed within %v of the reunion", len(sealed), len(founders), reachWithin)
		return nil
	}
	s.see("sealed %v after the reunion: %s", time.Duration(history.Now()-begun).Round(100*time.Millisecond), reason)
	return nil
}

// silent calls the sealed members for some time. The checker finds the calls that succeeded.
func (t *travel) silent() error {
	until := history.Now() + int64(3*time.Second)
	for history.Now() < until {
		for _, m := range t.s.Lab.Founders() {
			t.s.client.IDs(t.s.ctx, m, "", 10, 0)
		}
		if !history.Sleep(t.s.ctx, pollEvery) {
			return t.s.ctx.Err()
		}
	}
	return nil
}

// goOn restores the cluster from the directories of all members.
func (t *travel) goOn() error {
	s := t.s
	s.faults.End()
	for _, m := range t.hit {
		if err := t.harvest(check.BranchNew, m, m.Files()); err != nil {
			return err
		}
	}
	all := nemesis.Backup{Source: "the directories of all members", TakenAt: history.Now()}
	for _, m := range s.Lab.Founders() {
		b, err := s.faults.Backup(s.ctx, nemesis.FromDirectory, m)
		if err != nil {
			return err
		}
		all.Files = append(all.Files, b.Files...)
	}
	return s.reborn(all, t.third)
}

// harvest adds the log of a stopped member, or of a copy, to the archive of a branch.
func (t *travel) harvest(branch string, m *lab.Member, dir string) error {
	archive := t.archives[branch]
	if archive == nil {
		var err error
		if archive, err = raftlog.Create(filepath.Join(t.s.Dir, branch), 1); err != nil {
			return err
		}
		t.archives[branch] = archive
	}
	_, err := archive.Harvest(m.Name, history.Now(), dir)
	return err
}

func (t *travel) close() {
	for _, archive := range t.archives {
		_ = archive.Close() // each harvest was flushed
	}
}
