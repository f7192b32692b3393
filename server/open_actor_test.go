package server_test

import (
	"testing"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// In an open cluster, commands for the workers and blocks of clients have an actor, whichever member took the call. Commands
// for the workers and blocks of members have none.
func TestActorsOfWorkersAndBlocksInOpenCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		first, taker := leader(t, nodes), follower(t, nodes)
		ctx := t.Context()
		if _, err := first.sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: relaxed("orders")}); err != nil {
			t.Fatal(err)
		}
		for _, n := range []*node{first, taker} {
			if _, err := n.workers.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{
				Holder: "client-" + n.cfg.Name, Nonce: make([]byte, 16), WindowMs: 5000, ClockAtMs: time.Now().UnixMilli(),
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "orders", Count: 17}); err != nil {
				t.Fatal(err)
			}
			if _, err := n.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}); err != nil {
				t.Fatal(err)
			}
		}
		taker.stop()
		clients, members := make(map[string]int), make(map[string]int)
		for _, cmd := range commandsOf(t, taker) {
			var what string
			var client bool
			switch b := cmd.GetBody().(type) {
			case *commandv1.Command_AcquireWorker:
				holder := b.AcquireWorker.GetHolder()
				what, client = "worker", holder == "client-"+first.cfg.Name || holder == "client-"+taker.cfg.Name
			case *commandv1.Command_AllocateBlock:
				what, client = "block", b.AllocateBlock.GetCount() == 17
			default:
				continue
			}
			if client {
				clients[what]++
				if cmd.GetActor().GetKind() != commandv1.ActorKind_ACTOR_KIND_OPEN {
					t.Errorf("a client's %s has the actor %v", what, cmd.GetActor())
				}
				continue
			}
			members[what]++
			if cmd.GetActor() != nil {
				t.Errorf("a member's own %s has the actor %v", what, cmd.GetActor())
			}
		}
		if clients["worker"] != 2 || clients["block"] != 2 || members["worker"] < 2 || members["block"] != 2 {
			t.Errorf("%v of clients, %v of members", clients, members)
		}
	})
}
