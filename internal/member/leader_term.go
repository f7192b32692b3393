package member

import (
	"context"
	"maps"
	"sync"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
)

// leaderTerm holds a leader's memory for one term: the strict sequences, and the
// time for which an upgrade was ready.
//
// Invariant: a strict number that it issues comes from a block that was granted in
// its term, after all numbers of earlier leaders. After the number was chosen, a
// majority confirmed that the member still led in that term. So a leader that was
// replaced and does not know it answers no call. In a term, one strictSequence
// issues all numbers of an incarnation of a sequence. So if a call begins after
// another returned, the later call gets the later number.
type leaderTerm struct {
	m    *Member
	term uint64
	led  verifier

	upgrade upgradeWait

	mu            sync.Mutex
	byIncarnation map[uint64]*strictSequence
}

func newLeaderTerm(m *Member) *leaderTerm {
	lt := &leaderTerm{m: m, term: m.node.LeadingTerm(), byIncarnation: make(map[uint64]*strictSequence)}
	lt.upgrade = upgradeWait{after: m.cfg.FinalizeAfter, began: m.monotonic(), founding: m.cfg.Initial != nil && m.fsm.ConfigValue().GetGeneration() == 0}
	lt.led.verify = func(ctx context.Context) error { return m.node.Verify(ctx, lt.term) }
	return lt
}

// sequence returns the strict sequence of an incarnation that this replica has or had.
func (lt *leaderTerm) sequence(name string, incarnation uint64) *strictSequence {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	s := lt.byIncarnation[incarnation]
	if s == nil {
		s = &strictSequence{name: name, incarnation: incarnation, lt: lt}
		s.numbers = lt.m.openSequence(name, s)
		lt.byIncarnation[incarnation] = s
	}
	return s
}

// opened returns the strict sequence of an incarnation; nil before its first call in this term.
func (lt *leaderTerm) opened(incarnation uint64) *strictSequence {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	return lt.byIncarnation[incarnation]
}

// sweep forgets sequences that were deleted, if there are many sequences. A caller that still holds one gets no more blocks.
func (lt *leaderTerm) sweep(live int) {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	if len(lt.byIncarnation) > manyGone(live) {
		maps.DeleteFunc(lt.byIncarnation, func(incarnation uint64, s *strictSequence) bool {
			now, ok := lt.m.fsm.Sequence(s.name)
			return !ok || now.Incarnation != incarnation
		})
	}
}

// close returns the sequences, which the caller closes.
func (lt *leaderTerm) close() []*allocator.Sequence {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	var all []*allocator.Sequence
	for _, s := range lt.byIncarnation {
		all = append(all, s.numbers)
	}
	return all
}

// confirm returns nil if this member led in that term at some moment after the call
// began.
func (lt *leaderTerm) confirm(ctx context.Context) error {
	_, work := lt.m.work(ctx, spanVerify)
	err := lt.led.wait(ctx)
	work.End(failure(err))
	return err
}

// current returns an error unless this member leads in that term: it may have lost
// leadership and won it again, with another leader between.
func (lt *leaderTerm) current() error {
	if lt.m.node.LeadingTerm() != lt.term {
		return cluster.ErrNotLeader
	}
	return nil
}
