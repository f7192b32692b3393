package server_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/route"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// pastElection repeats a call that failed because an election took longer than members wait for a leader. Elections take
// that long on a busy machine only.
func pastElection(call func() error) error {
	for {
		began := time.Now()
		if err := call(); reason(err) != rpc.NoLeader || time.Since(began) < route.Wait {
			return err
		}
	}
}

// A gateway issues no ID that is older than 1 s, however long its buffer was not used.
func TestGatewayIssuesNoOldID(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		g := inFront(t, startCluster(t, 1))
		layout := snowflake.Default()
		for i := range 200 {
			ids, err := g.generate(1, 0)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := layout.Unpack(uint64(ids[0]))
			if err != nil {
				t.Fatal(err)
			}
			if age := time.Since(time.UnixMilli(layout.MillisAt(parts.Tick))); age > time.Second {
				t.Fatalf("ID %d, request %d: %v old", ids[0], i, age)
			}
			<-time.After(time.Duration(i*137%2500) * time.Millisecond)
		}
	})
}

// Clients of a gateway do not notice that a member crashes.
func TestGatewayOutlivesMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		g := inFront(t, nodes)
		if _, err := g.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: relaxed("s")}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		var answers atomic.Int64
		var mu sync.Mutex
		all := make(map[int64]bool)
		for range 8 {
			asking.Go(func() {
				for ctx.Err() == nil {
					breathe()
					var ids []int64
					if err := pastElection(func() (err error) {
						ids, err = g.generate(3, 0)
						return err
					}); err != nil {
						t.Errorf("IDs: %v", err)
						return
					}
					mu.Lock()
					for _, id := range ids {
						if all[id] {
							t.Errorf("ID %d twice", id)
						}
						all[id] = true
					}
					mu.Unlock()
					if err := pastElection(func() error { return second(g.next("s", 1)) }); err != nil {
						t.Errorf("numbers: %v", err)
						return
					}
					answers.Add(1)
				}
			})
		}
		some := func() {
			t.Helper()
			n := answers.Load()
			until(t, "answers continue", func() bool { return answers.Load() > n+100 })
		}
		some()
		nodes[0].crash() // the member whose address the gateway was started with
		some()
		nodes[0].start().untilReady()
		some()
		leader(t, nodes).stop()
		some()
		cancel()
		asking.Wait()
	})
}

func TestGatewayLostQuorum(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		g := inFront(t, nodes)
		for _, n := range nodes { // keep the ports at which the other members look for it
			n.cfg.APIAddr, n.cfg.RaftAddr, n.cfg.GossipAddr = n.server.APIAddr(), n.server.RaftAddr(), n.server.GossipAddr()
		}
		strict := &snowraftv1.Sequence{Name: "s", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}
		if _, err := g.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: strict}); err != nil {
			t.Fatal(err)
		}
		if _, err := g.next("s", 1); err != nil {
			t.Fatal(err)
		}
		nodes[0].crash()
		nodes[1].crash()
		if _, err := g.generate(1, 0); err != nil { // the third member holds a window
			t.Errorf("IDs without a quorum: %v", err)
		}
		until(t, "numbers are refused", func() bool { // a leader may continue for a moment; the outcome is then unknown
			_, err := g.next("s", 1)
			return reason(err) == rpc.NoLeader
		})
		nodes[2].crash()
		until(t, "the gateway is not ready", func() bool { return g.Ready() != nil })
		if code, _ := g.ask("GET", "/readyz", ""); code != http.StatusServiceUnavailable {
			t.Errorf("/readyz: %d without any member", code)
		}
		until(t, "no ID is left", func() bool { _, err := g.generate(60, 0); return status.Code(err) == codes.Unavailable })
		for _, n := range nodes {
			n.start()
		}
		until(t, "the gateway is ready again", func() bool { return g.Ready() == nil })
		until(t, "numbers are issued again", func() bool { _, err := g.next("s", 1); return err == nil })
	})
}
