//go:build linux

package scenario

import (
	"context"
	"sync"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/history"
)

// round is the number of entries between two harvests. Members keep about twice as many behind a snapshot.
const round = 1000

// overtake lets the members that were set back commit entries until none of them has the entries after those of the third one.
func (t *travel) overtake() error {
	s := t.s
	begun := history.Now()
	for behind := true; behind; {
		if history.Now()-begun > int64(reachWithin) {
			return unreached("no snapshot beyond entry %d within %v", t.log.Last, reachWithin)
		}
		t.fill()
		behind = false
		for _, m := range t.hit {
			goOn := s.pause(m)
			if err := disk.CopyDir(m.Files(), m.Side()); err != nil {
				return err
			}
			_ = goOn() // continuing a process does not fail
			log, err := t.harvest(check.BranchNew, m, m.Side())
			if err != nil {
				return err
			}
			if err := disk.Wipe(m.Side()); err != nil {
				return err
			}
			behind = behind || log.First <= t.log.Last+1
		}
	}
	return nil
}

// fill makes the members that were set back commit a round of entries: their leader grants itself a block for each request.
func (t *travel) fill() {
	var clients sync.WaitGroup
	for i := range 20 {
		m := t.hit[i%len(t.hit)]
		clients.Go(func() {
			for range round / 20 {
				if op := t.s.client.Next(t.s.ctx, m, orders, block, ""); op.Outcome != history.OK {
					return
				}
			}
		})
	}
	clients.Wait()
}

// offered waits until the third member was sent a snapshot. A member that is set back sends it again and again.
func (t *travel) offered() error {
	return t.s.until("a snapshot for "+t.third.Name, func(ctx context.Context) bool {
		if got, err := t.s.status(ctx, t.third); err == nil && got.GetCommitIndex() > t.log.Last && !t.failed {
			t.violation("%s follows the members that were set back up to entry %d, and knew entries up to %d", t.third.Name, got.GetCommitIndex(), t.log.Last)
		}
		lines, err := t.third.Logged("snapshot")
		return t.failed || err == nil && lines > 0
	})
}

// kept ends the cluster, and checks that the third member has the log of before the reunion.
func (t *travel) kept() error {
	t.s.faults.End()
	log, err := t.harvest(check.BranchOld, t.third, t.third.Files())
	if err != nil {
		return err
	}
	if log.First != t.log.First || log.Last != t.log.Last || log.Entries != t.log.Entries || log.Sum != t.log.Sum {
		t.violation("%s had %d entries from %d to %d with sum %x, and has %d from %d to %d with sum %x", t.third.Name,
			t.log.Entries, t.log.First, t.log.Last, t.log.Sum, log.Entries, log.First, log.Last, log.Sum)
	}
	return nil
}
