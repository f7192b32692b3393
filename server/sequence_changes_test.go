package server_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// After a change has returned, no member issues a number from before the change.
func TestChangesReachAllMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := except(nodes, leader(t, nodes))[0]
		n.createSequence(relaxed("s"))
		for _, o := range nodes {
			o.next("s", 1) // each has a block now
		}
		for at := int64(100_000); at <= 500_000; at += 100_000 {
			until(t, "the change reaches all members", func() bool { // a slow member may not acknowledge it in time
				resp, err := n.sequences.SetNext(t.Context(), &snowraftv1.SetNextRequest{Sequence: "s", Next: at})
				if err != nil {
					t.Fatal(err)
				}
				return len(resp.GetUnreachedMembers()) == 0
			})
			for _, o := range nodes {
				if got := o.next("s", 1)[0]; got < at {
					t.Fatalf("%s issues %d after the sequence was set to %d", o.cfg.Name, got, at)
				}
			}
		}
		if _, err := n.sequences.SetNext(t.Context(), &snowraftv1.SetNextRequest{Sequence: "s", Next: 7}); reason(err) != rpc.WouldRepeat {
			t.Errorf("set back: %v", err)
		}
		until(t, "the number set back reaches all members", func() bool {
			resp, err := n.sequences.SetNext(t.Context(), &snowraftv1.SetNextRequest{Sequence: "s", Next: 7, Force: true})
			if err != nil {
				t.Fatal(err)
			}
			return len(resp.GetUnreachedMembers()) == 0
		})
		if got := nodes[0].next("s", 1)[0]; got >= 100_000 {
			t.Errorf("got %d after the sequence was set back", got)
		}
		var resp *snowraftv1.UpdateSequenceResponse
		var err error
		until(t, "the update reaches all members", func() bool {
			resp, err = n.sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{
				Sequence: &snowraftv1.Sequence{Name: "s", Increment: proto.Int64(10), Description: "tens"}, Force: true,
			})
			return err != nil || len(resp.GetUnreachedMembers()) == 0
		})
		if err != nil || resp.GetSequence().GetDescription() != "tens" || resp.GetSequence().GetBlockDurationMs() != 10_000 {
			t.Fatalf("%v, %v", resp, err)
		}
		for _, o := range nodes {
			if got := o.next("s", 2); got[1] != got[0]+10 {
				t.Errorf("%s issues %v", o.cfg.Name, got)
			}
		}
		// A mask clears the fields that it names and the message omits.
		resp, err = n.sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: "s"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}},
		})
		if err != nil || resp.GetSequence().GetDescription() != "" || resp.GetSequence().GetIncrement() != 10 {
			t.Errorf("%v, %v", resp, err)
		}
		if _, err := n.sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: "s"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"generation"}},
		}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("mask with a field that cannot be changed: %v", err)
		}
		deleted, err := n.sequences.DeleteSequence(t.Context(), &snowraftv1.DeleteSequenceRequest{Name: "s"})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range nodes {
			if slices.Contains(deleted.GetUnreachedMembers(), o.cfg.Name) {
				o.untilApplied(nodes)
			}
			if _, err := o.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 1}); reason(err) != rpc.UnknownSequence {
				t.Errorf("after the deletion: %v", err)
			}
		}
		if _, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "s"}}); reason(err) != rpc.WouldRepeat {
			t.Errorf("created again: %v", err)
		}
	})
}

// A change does not wait for a member that is not alive, and names the member.
func TestChangesNameUnreachedMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		down := except(nodes, leader(t, nodes))[0]
		down.stop()
		n := leader(t, except(nodes, down))
		until(t, "all other members are reached", func() bool { // a slow member may not acknowledge the change in time
			began := time.Now()
			resp, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "s"}})
			if err != nil || !slices.Contains(resp.GetUnreachedMembers(), down.cfg.Name) {
				t.Errorf("%v, %v", resp, err)
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("the change took %v", took)
			}
			return err != nil || len(resp.GetUnreachedMembers()) == 1
		})
	})
}
