package server_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A block that the leader has taken for itself is known at once through any member.
func TestGetSequenceIsTheLeadersState(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		first := leader(t, nodes)
		for round := range 20 {
			name := fmt.Sprintf("orders-%d", round)
			first.createSequence(strict(name))
			if _, err := first.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1}); err != nil {
				t.Fatal(err)
			}
			for _, n := range nodes {
				resp, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: name})
				if err != nil {
					t.Fatal(err)
				}
				if got := resp.GetSequence().GetNext(); got == 1 {
					t.Errorf("round %d: next number at %s = 1, which is issued", round, n.cfg.Name)
				}
			}
		}
	})
}

// Without a quorum, a member shows what it knows to a local request, and refuses others.
func TestGetSequenceWithoutQuorum(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].createSequence(strict("orders"))
		nodes[1].stop()
		nodes[2].stop()
		n := nodes[0]
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		until(t, "the member knows that there is no leader", func() bool {
			_, err := n.sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: "orders"})
			if err == nil {
				return false
			}
			if reason(err) != rpc.NoLeader {
				t.Errorf("GetSequence() without a quorum = %v", err)
			}
			return true
		})
		resp, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "orders", Local: true})
		if err != nil || resp.GetSequence().GetNext() != 1 {
			t.Errorf("local GetSequence() without a quorum = %v, %v", resp, err)
		}
	})
}
