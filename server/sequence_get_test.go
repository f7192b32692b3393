package server_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Each member answers with the last number of a strict sequence, and with what is left beyond it, although the leader holds a block.
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
				list, err := n.sequences.ListSequences(t.Context(), &snowraftv1.ListSequencesRequest{Prefix: name})
				if err != nil {
					t.Fatal(err)
				}
				for how, got := range map[string]*snowraftv1.Sequence{"get": resp.GetSequence(), "list": list.GetSequences()[0]} {
					if got.Last == nil || got.GetLast() != 1 || got.GetNext() != 2 || got.GetRemaining() != math.MaxInt64-1 {
						t.Errorf("round %d, %s at %s: %v", round, how, n.cfg.Name, got)
					}
				}
			}
		}
		for _, n := range nodes {
			until(t, "the list of views, up to 1 s old, has the last sequence", func() bool {
				views, err := n.views().ListSequenceViews(t.Context(), &snowraftv1.ListSequenceViewsRequest{NameContains: "orders-19"})
				if err != nil {
					t.Fatal(err)
				}
				all := views.GetSequences()
				return len(all) == 1 && all[0].GetSequence().GetLast() == 1
			})
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
