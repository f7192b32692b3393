package server_test

import (
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

func TestWhoIsReturnsGrantState(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		acquire := func(window time.Duration) *snowraftv1.Grant {
			t.Helper()
			resp, err := n.workers.AcquireWorker(t.Context(), &snowraftv1.AcquireWorkerRequest{
				Holder: "app", Nonce: make([]byte, 16), ClockAtMs: time.Now().UnixMilli(), WindowMs: window.Milliseconds(),
			})
			if err != nil {
				t.Fatal(err)
			}
			return resp.GetGrant()
		}
		whois := func(g *snowraftv1.Grant) *snowraftv1.WhoIsResponse {
			t.Helper()
			id, err := snowflake.Default().Pack(snowflake.Parts{Tick: g.GetFromTick(), Worker: g.GetWorker()})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := n.ids.WhoIs(t.Context(), &snowraftv1.WhoIsRequest{Id: int64(id)})
			if err != nil {
				t.Fatal(err)
			}
			if resp.GetGrant().GetToken() != g.GetToken() {
				t.Fatalf("WhoIs() = %v, want the grant with token %d", resp.GetGrant(), g.GetToken())
			}
			return resp
		}
		state := func(g *snowraftv1.Grant) string {
			t.Helper()
			return whois(g).GetGrant().GetState().String()
		}
		first := acquire(time.Hour)
		if got := state(first); got != "WORKER_STATE_HELD" {
			t.Errorf("state of an open window = %s", got)
		}
		if _, err := n.workers.ReleaseWorker(t.Context(), &snowraftv1.ReleaseWorkerRequest{
			Worker: first.GetWorker(), Token: first.GetToken(), Nonce: make([]byte, 16), UntilTick: first.GetUntilTick(), NextTick: first.GetFromTick() + 1,
		}); err != nil {
			t.Fatal(err)
		}
		if got := state(first); got != "WORKER_STATE_RELEASED" {
			t.Errorf("state after a release = %s", got)
		}
		breathe() // the worker is free from the next tick on
		second := acquire(time.Millisecond)
		if second.GetWorker() != first.GetWorker() {
			t.Fatalf("the holder was granted worker %d, want %d again", second.GetWorker(), first.GetWorker())
		}
		if got := state(first); got != "WORKER_STATE_SUPERSEDED" {
			t.Errorf("state after another grant = %s", got)
		}
		if got := whois(first); got.GetPrevious() != nil || got.GetNext().GetToken() != second.GetToken() || got.GetNext().GetFromTick() < got.GetGrant().GetUntilTick() {
			t.Errorf("WhoIs(first) = %v, want the second window as next and no previous", got)
		}
		if got := whois(second); got.GetNext() != nil || got.GetPrevious().GetToken() != first.GetToken() || got.GetPrevious().GetUntilTick() > got.GetGrant().GetFromTick() {
			t.Errorf("WhoIs(second) = %v, want the first window as previous and no next", got)
		}
		until(t, "the window ends", func() bool { return state(second) == "WORKER_STATE_EXPIRED" })
	})
}
