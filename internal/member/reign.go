package member

import (
	"context"
	"maps"
	"sync"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
)

// reign is what a leader keeps in memory of strict sequences, for one term.
//
// Invariant: numbers that it gives out come from blocks that were granted in its
// term, after all that earlier leaders gave out, and that it still led in that
// term was confirmed by a majority after they were chosen. So a leader that was
// replaced and does not know it answers nobody, and of two calls of which one began
// after the other returned, the later one gets the later number.
type reign struct {
	m    *Member
	term uint64
	led  verifier

	mu     sync.Mutex
	byName map[string]*strictSequence
}

func newReign(m *Member) *reign {
	r := &reign{m: m, term: m.node.LeadingTerm(), byName: make(map[string]*strictSequence)}
	r.led.verify = func(ctx context.Context) error { return m.node.Verify(ctx, r.term) }
	return r
}

func (r *reign) sequence(name string) *strictSequence {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byName[name]
	if s == nil {
		s = &strictSequence{name: name, r: r}
		s.numbers = r.m.openSequence(name, s)
		r.byName[name] = s
	}
	return s
}

// sweep forgets sequences that are gone, when there are many.
func (r *reign) sweep(live int, exists func(name string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.byName) > manyGone(live) {
		maps.DeleteFunc(r.byName, func(name string, _ *strictSequence) bool { return !exists(name) })
	}
}

// close returns the sequences, which the caller closes.
func (r *reign) close() []*allocator.Sequence {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*allocator.Sequence
	for _, s := range r.byName {
		all = append(all, s.numbers)
	}
	return all
}

// confirm makes sure that this member leads in the reign's term at some moment
// after the call began.
func (r *reign) confirm(ctx context.Context) error {
	return r.led.wait(ctx)
}

// current makes sure that the reign has not ended with its term: this member may have lost
// leadership and won it again, with another leader between.
func (r *reign) current() error {
	if r.m.node.LeadingTerm() != r.term {
		return cluster.ErrNotLeader
	}
	return nil
}
