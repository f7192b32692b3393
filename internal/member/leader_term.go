package member

import (
	"context"
	"maps"
	"sync"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
)

// leaderTerm is the state of strict sequences in a leader's memory, for one term.
//
// Invariant: numbers that it issues come from blocks that were granted in its
// term, after all that earlier leaders issued, and that it still led in that
// term was confirmed by a majority after they were chosen. So a leader that was
// replaced and does not know it answers no call, and of two calls of which one began
// after the other returned, the later one gets the later number.
type leaderTerm struct {
	m    *Member
	term uint64
	led  verifier

	upgrade upgradeWait

	mu     sync.Mutex
	byName map[string]*strictSequence
}

func newLeaderTerm(m *Member) *leaderTerm {
	lt := &leaderTerm{m: m, term: m.node.LeadingTerm(), byName: make(map[string]*strictSequence)}
	lt.upgrade = upgradeWait{after: m.cfg.FinalizeAfter, began: m.monotonic(), founding: m.cfg.Initial != nil && m.fsm.ConfigValue().GetGeneration() == 0}
	lt.led.verify = func(ctx context.Context) error { return m.node.Verify(ctx, lt.term) }
	return lt
}

func (lt *leaderTerm) sequence(name string) *strictSequence {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	s := lt.byName[name]
	if s == nil {
		s = &strictSequence{name: name, lt: lt}
		s.numbers = lt.m.openSequence(name, s)
		lt.byName[name] = s
	}
	return s
}

// sweep forgets sequences that are gone, when there are many.
func (lt *leaderTerm) sweep(live int, exists func(name string) bool) {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	if len(lt.byName) > manyGone(live) {
		maps.DeleteFunc(lt.byName, func(name string, _ *strictSequence) bool { return !exists(name) })
	}
}

// close returns the sequences, which the caller closes.
func (lt *leaderTerm) close() []*allocator.Sequence {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	var all []*allocator.Sequence
	for _, s := range lt.byName {
		all = append(all, s.numbers)
	}
	return all
}

// confirm makes sure that this member leads in that term at some moment
// after the call began.
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
