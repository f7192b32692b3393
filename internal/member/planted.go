package member

import (
	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
)

// inherited is what the planted bug mutant.TrustReplica does: the window that this member's replica
// says an earlier start of the lane has, if it is not over.
func (m *Member) inherited(r allocator.AcquireRequest) (g allocator.Grant, ok bool) {
	l, known := m.fsm.Layout(r.Layout)
	if !known {
		return g, false
	}
	m.fsm.View(func(s *fsm.State) {
		for _, w := range s.Workers(r.Layout, 0, int(min(l.Workers(), 1<<20))) {
			if w.Holder == r.Holder && w.Nonce != r.Nonce && !w.Released && w.HighWater > l.TickAt(r.NowMillis) {
				g, ok = allocator.Grant{Worker: w.Worker, Token: w.Token, From: w.From, Until: w.HighWater}, true
			}
		}
	})
	return g, ok
}
