package cluster

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// Raft adopts a later term, and may vote in it, before the node learns that it lost leadership. The node's own answer is then
// that there is a later term.
func TestVerifyCountsOwnTerm(t *testing.T) {
	t.Parallel()
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem)
	untilLeader(t, n)
	term := n.LeadingTerm()
	if err := n.Verify(t.Context(), term); err != nil {
		t.Errorf("Verify() = %v in the term that the node leads in", err)
	}
	n.leads.Store(term - 1) // state before follow learns of the end
	if err := n.Verify(t.Context(), term-1); !errors.Is(err, ErrNotLeader) {
		t.Errorf("Verify() = %v of a leader that has seen a later term, want ErrNotLeader", err)
	}
	if got, ok := n.termIfOpen(); got != term || !ok {
		t.Errorf("termIfOpen() = %d, %t, want %d", got, ok, term)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
