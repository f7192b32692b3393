//go:build linux

package scenario

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/rpc"
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

// travel sets the members hit back in time, and not the third, which is nil if all are hit.
type travel struct {
	s        *stage
	hit      []*lab.Member
	third    *lab.Member
	numbers  *taker
	receipt  []byte                      // the receipt of the absent client
	archives map[string]*raftlog.Archive // keyed by branch
	log      raftlog.Summary             // the third member's before the reunion
	unite    func() error
	failed   bool
}

// travel prepares to set this number of members back, the leader among them.
func (s *stage) travel(members int) (*travel, error) {
	leader, _, err := s.leader(0, s.Lab.Founders()...)
	if err != nil {
		return nil, err
	}
	all := append([]*lab.Member{leader}, s.others(leader)...)
	t := &travel{s: s, hit: all[:members], archives: make(map[string]*raftlog.Archive), unite: func() error { return nil }}
	if members < len(all) {
		t.third = all[members]
	}
	return t, nil
}

// play plays the steps until one of them fails.
func (t *travel) play(steps ...func() error) error {
	defer t.close()
	if err := t.s.strict(block); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step(); err != nil || t.failed {
			return err
		}
	}
	return nil
}

// copy copies the directories of the majority at one moment.
func (t *travel) copy() error {
	s := t.s
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
		if _, err := t.harvest(check.BranchCopied, m, m.Side()); err != nil {
			return err
		}
	}
	return nil
}

// outrun lets the cluster continue until one member has committed numbers beyond the copies. That is the third one, which is
// then cut off. The client keeps its receipt.
func (t *travel) outrun() error {
	s, last := t.s, t.hit[0]
	if t.third != nil {
		last = t.third
	}
	var copied uint64
	err := s.until("the status of "+last.Name, func(ctx context.Context) bool {
		got, err := s.status(ctx, last)
		copied = got.GetCommitIndex()
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := s.more(t.numbers, 200); err != nil {
		return err
	}
	err = s.until("entries of "+last.Name+" beyond the copies", func(ctx context.Context) bool {
		got, err := s.status(ctx, last)
		t.receipt = got.GetReceipt()
		return err == nil && got.GetCommitIndex() > copied+1
	})
	if err != nil || t.third == nil {
		return err
	}
	t.unite, err = s.isolate(t.third)
	return err
}

// replace replaces the directories of the members by the copies. These members issue numbers again, and the third one restarts.
func (t *travel) replace() error {
	s := t.s
	end := s.begin(check.FaultSetBack, nemesis.Process, 0, "", t.hit...)
	heal := t.unite
	t.unite = func() error { defer end(); return heal() }
	down(t.hit)
	for _, m := range t.hit {
		if _, err := t.harvest(check.BranchOld, m, m.Files()); err != nil {
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
	if t.third == nil {
		return nil
	}
	start := s.kill(t.third)
	var err error
	if t.log, err = t.harvest(check.BranchOld, t.third, t.third.Files()); err != nil {
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
	if err := t.unite(); err != nil {
		return err
	}
	return t.sealed("the reunion")
}

// comeBack lets the client return that was absent, and waits until all members are sealed.
func (t *travel) comeBack() error {
	if err := errors.Join(t.unite(), t.bring(t.receipt)); err != nil {
		return err
	}
	return t.sealed("the return of a client")
}

// forge brings a receipt that no member made, of another history than the cluster's. Nothing may happen.
func (t *travel) forge() error {
	s := t.s
	var receipt []byte
	err := s.until("a receipt", func(ctx context.Context) bool {
		got, err := s.status(ctx, t.hit[0])
		receipt = got.GetReceipt()
		return err == nil && len(receipt) > forgedByte
	})
	if err != nil {
		return err
	}
	receipt[forgedByte] ^= 1
	if err := t.bring(receipt); err != nil {
		return err
	}
	for until := history.Now() + int64(2*time.Second); history.Now() < until; {
		if got, err := s.status(s.ctx, t.hit[0]); err == nil && got.GetSealed() != nil {
			t.violation("a forged receipt sealed the cluster: %s", got.GetSealed().GetReason())
			return nil
		}
		if !history.Sleep(s.ctx, pollEvery) {
			return s.ctx.Err()
		}
	}
	return nil
}

// forgedByte is the place in a receipt of a byte of the nonce of the last leadership.
const forgedByte = 1 + 4 + 16 + 4 + 8

// bring calls the leader as a client that has a receipt.
func (t *travel) bring(receipt []byte) error {
	s := t.s
	return s.until("a call with a receipt", func(ctx context.Context) bool {
		_, err := s.status(metadata.AppendToOutgoingContext(ctx, rpc.Receipt, string(receipt)), t.hit[0])
		return err == nil
	})
}

// sealed waits until all members are sealed.
func (t *travel) sealed(after string) error {
	s, founders := t.s, t.s.Lab.Founders()
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
		t.violation("%d of %d members were sealed within %v of %s", len(sealed), len(founders), reachWithin, after)
		return nil
	}
	s.see("sealed %v after %s: %s", time.Duration(history.Now()-begun).Round(100*time.Millisecond), after, reason)
	return nil
}

// violation records a violation, and ends the script.
func (t *travel) violation(format string, args ...any) {
	t.failed = true
	t.s.violation(format, args...)
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
		if _, err := t.harvest(check.BranchNew, m, m.Files()); err != nil {
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
	return s.reborn(all, t.hit[0])
}

// harvest adds the log of a stopped member, or of a copy, to the archive of a branch.
func (t *travel) harvest(branch string, m *lab.Member, dir string) (raftlog.Summary, error) {
	archive := t.archives[branch]
	if archive == nil {
		var err error
		if archive, err = raftlog.CreateBranch(t.s.Dir, branch, 1); err != nil {
			return raftlog.Summary{}, err
		}
		t.archives[branch] = archive
	}
	return archive.Harvest(m.Name, history.Now(), dir)
}

func (t *travel) close() {
	for _, archive := range t.archives {
		_ = archive.Close() // each harvest was flushed
	}
}
