package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// The test restarts one member of three alone. The member cannot know which sequences exist until a leader reports which part
// of the log is committed.
func TestRestartedMemberReportsNothingUnknown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr = "127.0.0.1:0" })
		n := nodes[1]
		n.createSequence(relaxed("orders"))
		n.createSequence(strict("strict"))
		for _, o := range nodes {
			o.cfg.GossipAddr = o.server.GossipAddr() // the address at which the other members look for it
			o.stop()
		}
		n.start()
		ask := func() map[string]error {
			var next, get, last error
			var calls sync.WaitGroup
			calls.Go(func() {
				_, next = n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1})
			})
			calls.Go(func() {
				_, get = n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "orders", Local: true})
			})
			calls.Go(func() {
				_, last = n.sequences.GetLast(t.Context(), &snowraftv1.GetLastRequest{Sequence: "orders"})
			})
			calls.Wait()
			return map[string]error{"Next": next, "GetSequence": get, "GetLast": last}
		}
		for call, err := range ask() {
			if reason(err) != rpc.NoLeader || status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "could not query the leader") {
				t.Errorf("%s without a quorum: %v", call, err)
			}
		}
		if got := redisLine(t, n.server.RedisAddr(), "EXISTS orders"); !strings.HasPrefix(got, "-LOADING ") {
			t.Errorf("EXISTS without a quorum: %s", got)
		}
		// A request waits while the member catches up, whether or not the sequence exists.
		held := make(chan error, 1)
		go func() {
			for {
				_, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "strict", Count: 1})
				if reason(err) != rpc.NoLeader {
					held <- err
					return
				}
			}
		}()
		nodes[0].start()
		if err := <-held; err != nil {
			t.Errorf("a strict sequence on the way: %v", err)
		}
		until(t, "the sequence is known again", func() bool {
			for call, err := range ask() {
				if reason(err) == rpc.UnknownSequence {
					t.Fatalf("%s on the way: %v", call, err)
				}
				if err != nil {
					return false
				}
			}
			return true
		})
		if got := redisLine(t, n.server.RedisAddr(), "EXISTS orders nosuch"); got != ":1" {
			t.Errorf("EXISTS: %s", got)
		}
		if _, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "nosuch"}); reason(err) != rpc.UnknownSequence {
			t.Errorf("another sequence: %v", err)
		}
	})
}

// A member that has not joined a cluster cannot know which sequences and layouts exist. It reports that over all protocols.
func TestMemberWithoutClusterReportsNothingUnknown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := newNode(t, "alone", func(c *server.Config) {
			c.RedisAddr, c.Join = "127.0.0.1:0", []string{"127.0.0.1:1"}
		}).start()
		var all sync.WaitGroup // requests that wait for a leader
		for call, ask := range map[string]func() error{
			"Next": func() error {
				_, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 1})
				return err
			},
			"GetSequence": func() error {
				_, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "s", Local: true})
				return err
			},
			"GetLast": func() error {
				_, err := n.sequences.GetLast(t.Context(), &snowraftv1.GetLastRequest{Sequence: "s"})
				return err
			},
			"GetLayout": func() error {
				_, err := n.layouts.GetLayout(t.Context(), &snowraftv1.GetLayoutRequest{Name: "s"})
				return err
			},
			"GenerateIds": func() error {
				_, err := n.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Layout: "s", Count: 1})
				return err
			},
		} {
			all.Go(func() {
				if err := ask(); reason(err) != rpc.NoLeader {
					t.Errorf("%s: %v", call, err)
				}
			})
		}
		for _, command := range []string{"GET", "EXISTS", "INCR"} {
			all.Go(func() {
				if got := redisLine(t, n.server.RedisAddr(), command+" s"); !strings.HasPrefix(got, "-LOADING ") {
					t.Errorf("%s: %s", command, got)
				}
			})
		}
		all.Go(func() {
			resp, err := browser(t).Post("http://"+n.server.HTTPAddr()+"/seq/s", "", http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("/seq: %s", resp.Status)
			}
		})
		all.Wait()
	})
}
