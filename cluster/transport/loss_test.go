package transport

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// processWithin returns the outcome of ProcessAt at an address, within a limit.
func processWithin(t *testing.T, from layered, id, address string, limit time.Duration) (process string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return from.ProcessAt(ctx, raft.ServerID(id), address)
}

func TestProcessAt(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := layer(t, clusterkit.Keys(t, keys...)), layer(t, clusterkit.Keys(t, keys...))
			address := b.listener.Addr().String()
			if process, err := processWithin(t, a, b.self.ID, address, clusterkit.Patience); err != nil || process != b.self.Process {
				t.Errorf("at a node that lives: %q, %v; want %q", process, err, b.self.Process)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := processWithin(t, a, b.self.ID, address, clusterkit.Patience); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("at a stopped node: %v, want a refusal", err)
			}
			for what, address := range map[string]string{
				"a process that is paused": acceptor(t, func(c *net.TCPConn) { t.Cleanup(func() { _ = c.Close() }) }),
				"a process that closes":    acceptor(t, func(c *net.TCPConn) { _ = c.Close() }),
				"a process that resets": acceptor(t, func(c *net.TCPConn) {
					_ = c.SetLinger(0)
					_ = c.Close()
				}),
				"a name that stands for no host": "nowhere.invalid:1",
			} {
				if _, err := processWithin(t, a, b.self.ID, address, 200*time.Millisecond); err == nil || errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("%s: %v, want an error that is not a refusal", what, err)
				}
			}
		})
	}
}

// A question reaches the other voter with the ID of the asking voter, and the answer returns.
func TestAskLoss(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := layer(t, clusterkit.Keys(t, keys...)), layer(t, clusterkit.Keys(t, keys...))
			want := Loss{Leader: clusterkit.NodeID(1), Process: "p", Term: 7, LastTerm: 6, LastIndex: 1 << 60}
			b.StreamLayer.AnswerLoss = func(_ context.Context, candidate string, question Loss) LossReply {
				return LossReply{Agrees: candidate == a.self.ID && question == want, Why: "because"}
			}
			ctx, cancel := context.WithTimeout(t.Context(), clusterkit.Patience)
			defer cancel()
			reply, err := a.AskLoss(ctx, raft.ServerID(b.self.ID), raft.ServerAddress(b.listener.Addr().String()), want)
			if err != nil || !reply.Agrees || reply.Why != "because" {
				t.Errorf("AskLoss() = %+v, %v", reply, err)
			}
		})
	}
}
