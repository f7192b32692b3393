package server_test

import (
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Two tokens can have the same name, one after the other. Their IDs distinguish their holders.
func TestWorkersShowTokensOfHolders(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		acquire := func() (worker, token uint64) {
			t.Helper()
			text, id := s.token("app", "worker:lease:*")
			grant, err := n.workers.AcquireWorker(as(t.Context(), text), &snowraftv1.AcquireWorkerRequest{
				Holder: "h", Nonce: make([]byte, 16), WindowMs: 60_000, ClockAtMs: time.Now().UnixMilli(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.server.Member().DeleteToken(t.Context(), id, nil); err != nil {
				t.Fatal(err)
			}
			return grant.GetGrant().GetWorker(), id
		}
		want := make(map[uint64]uint64)
		for range 2 {
			worker, token := acquire()
			want[worker] = token
		}
		resp, err := snowraftv1.NewWorkerServiceClient(s.admin(n)).ListWorkers(t.Context(), &snowraftv1.ListWorkersRequest{})
		if err != nil || len(want) != 2 {
			t.Fatalf("%d workers, %v", len(want), err)
		}
		for _, g := range resp.GetWorkers() {
			token, ofToken := want[g.GetWorker()]
			if g.GetHolderTokenId() != token || ofToken && g.GetHolder() != "app/h" {
				t.Errorf("worker %v, want the token %d", g, token)
			}
		}
	})
}
