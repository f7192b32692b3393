package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/gateway"
	"github.com/snowraft/snowraft/trust"
)

// goClient returns a Go client that has a token.
func goClient(t *testing.T, token string, members ...*node) *client.Client {
	t.Helper()
	return goClientIn(networkOf(t), t, token, members...)
}

// goClientIn returns a Go client that uses a network; nil is the machine's network.
func goClientIn(in frontend.Network, t *testing.T, token string, members ...*node) *client.Client {
	t.Helper()
	var addresses []string
	for _, n := range members {
		addresses = append(addresses, n.server.APIAddr())
	}
	dial := append(frontend.DialOptions(in), grpc.WithIdleTimeout(0))
	options := []client.Option{client.WithDialOptions(dial...)}
	if token != "" {
		options = append(options, client.WithToken(token))
	}
	c, err := client.New(addresses, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// stays makes a member keep its ports after a restart.
func (n *node) stays() {
	n.cfg.APIAddr, n.cfg.RaftAddr, n.cfg.GossipAddr, n.cfg.HTTPAddr = n.server.APIAddr(), n.server.RaftAddr(), n.server.GossipAddr(), n.server.HTTPAddr()
}

// copied returns a copy of a stopped member's data directory.
func (n *node) copied() string {
	n.t.Helper()
	dir := filepath.Join(n.t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(n.cfg.DataDir)); err != nil {
		n.t.Fatal(err)
	}
	return dir
}

// TestFirstClientSealsASetBackCluster sets back all directories of a secured cluster. No member knows what was lost, and the
// first client that returns does.
func TestFirstClientSealsASetBackCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		text, _ := s.token("client", "ids:issue:default")
		h := copies(t, s.nodes)
		c := goClient(t, text, h.node)
		use(t, c, 3*time.Second)
		h.setBack()
		until(t, "the cluster is sealed", func() bool {
			_, _ = c.NextID(t.Context())
			return h.sealed()
		})
		until(t, "the client hears it", func() bool {
			_, err := c.NextID(t.Context())
			return reason(err) == rpc.SetBack
		})
	})
}

// use requests ten IDs per second.
func use(t *testing.T, c *client.Client, during time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if _, err := c.NextID(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-tick.C
	}
}

// history is a cluster of one member that its tests set back.
type history struct {
	*node
	before string // copy of the data directory
}

// copies returns the first member, after a copy of its directory was made while it was stopped.
func copies(t *testing.T, nodes []*node) *history {
	t.Helper()
	h := &history{node: nodes[0]}
	h.stays()
	h.stop()
	h.before = h.copied()
	h.start().untilReady()
	return h
}

// setBack kills the member and restarts it on the copy.
func (h *history) setBack() {
	h.t.Helper()
	h.crash()
	h.cfg.DataDir = h.before
	h.start()
	until(h.t, "the member leads", h.leads)
}

func (h *history) sealed() bool { return h.server.Member().State().Sealed() != nil }

// TestStreamHandsOutReceipts counts the receipts on a busy stream. No other message has any.
func TestStreamHandsOutReceipts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		stream, err := n.ids.StreamIds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var last position.Position
		receipts := 0
		const seconds, perSecond = 10, 50
		for id := uint64(1); id <= seconds*perSecond; id++ {
			if err := stream.Send(&snowraftv1.StreamIdsRequest{Id: id, Request: &snowraftv1.GenerateIdsRequest{}}); err != nil {
				t.Fatal(err)
			}
			answer, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.GetReceipt()) > 0 {
				p, err := trust.Receipts{}.Check(answer.GetReceipt())
				if err != nil || !last.Before(p) {
					t.Errorf("a receipt of %+v after %+v: %v", p, last, err)
				}
				last = p
				receipts++
			}
			wait(t, time.Second/perSecond)
		}
		if receipts < seconds-1 || receipts > seconds+1 {
			t.Errorf("%d receipts in %d s", receipts, seconds)
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if r := n.status().GetReceipt(); len(r) == 0 {
			t.Error("the status has no receipt")
		}
		if _, body := ask(t, browser(t), "GET", "http://"+n.server.HTTPAddr()+"/v1/status", ""); strings.Contains(body, "receipt") {
			t.Errorf("the status over HTTP has a receipt: %s", body)
		}
	})
}

// TestGeneratorWitnesses shows that a generator need not read the status, for which its token may lack the right.
func TestGeneratorWitnesses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		text, _ := s.token("generator", "worker:lease:default", "layouts:read")
		h := copies(t, s.nodes)
		c := goClient(t, text, h.node)
		g, err := client.NewGenerator(c)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(t.Context()) }()
		if _, err := g.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.setBack()
		until(t, "the cluster is sealed", h.sealed)
	})
}

// TestGatewayWitnesses uses a gateway over HTTP, whose clients know no receipts.
func TestGatewayWitnesses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		text, own := s.gatewayTokens()
		h := copies(t, s.nodes)
		g := h.gateway(own)
		id := func() { ask(t, browser(t), "GET", "http://"+g.HTTPAddr()+"/id", text) }
		for range 30 {
			id()
			wait(t, 100*time.Millisecond)
		}
		b := &bearer{t: t, token: text}
		if b.bring(g.ids); len(b.held) != 1 {
			t.Error("the gateway handed out no receipt")
		}
		h.setBack()
		until(t, "the cluster is sealed", func() bool {
			id()
			return h.sealed()
		})
	})
}

// askWithReceipt sends a request over HTTP with a receipt in base64, which may be empty, and returns the receipt of the answer.
func askWithReceipt(t *testing.T, address, token, brought string) (status int, receipt string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/members", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Snowraft-Receipt", brought)
	resp, err := browser(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Receipt string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer.Receipt
}

// TestHTTPClientWitnesses sets back a cluster whose only witness is a client of HTTP.
func TestHTTPClientWitnesses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		text, _ := s.token("client", "ids:issue:default")
		h := copies(t, s.nodes)
		status, receipt := askWithReceipt(t, h.server.HTTPAddr(), text, "")
		if status != http.StatusOK || receipt == "" {
			t.Fatalf("status %d, receipt %q", status, receipt)
		}
		if status, _ := askWithReceipt(t, h.server.HTTPAddr(), text, "?"); status != http.StatusBadRequest {
			t.Errorf("malformed base64: status %d", status)
		}
		h.setBack()
		if wait(t, 3*time.Second); h.sealed() {
			t.Fatal("sealed before the receipt came")
		}
		until(t, "the cluster is sealed", func() bool {
			askWithReceipt(t, h.server.HTTPAddr(), text, receipt)
			return h.sealed()
		})
	})
}

// TestGatewayPassesReceiptsOn brings a receipt to a gateway that has seen nothing of the lost history.
func TestGatewayPassesReceiptsOn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		text, own := s.gatewayTokens()
		h := copies(t, s.nodes)
		b := &bearer{t: t, token: text}
		b.bring(h.ids)
		h.setBack()
		g := h.gateway(own)
		if wait(t, 3*time.Second); h.sealed() {
			t.Fatal("sealed before the receipt came")
		}
		b.bring(g.ids, b.held...)
		until(t, "the cluster is sealed", h.sealed)
	})
}

// gatewayTokens returns the tokens of a caller and of a gateway.
func (s *secured) gatewayTokens() (caller, own string) {
	s.t.Helper()
	caller, _ = s.token("caller", "ids:issue:default")
	own, _ = s.token("gateway", "tokens:verify", "ids:issue:default")
	return caller, own
}

func (h *history) gateway(token string) *testGateway {
	h.t.Helper()
	g := openGatewayWith(h.t, gateway.Config{Members: []string{h.server.APIAddr()}, Token: token})
	until(h.t, "the gateway is ready", func() bool { return g.Ready() == nil })
	return g
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// TestOpenClusterIsNotSealedByReceipts shows that an open cluster asks its operator: any process can make its receipts.
func TestOpenClusterIsNotSealedByReceipts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := copies(t, startCluster(t, 1))
		c := goClient(t, "", h.node)
		use(t, c, 3*time.Second)
		h.setBack()
		until(t, "the leader suspects it", func() bool {
			_, _ = c.NextID(t.Context())
			return strings.Contains(h.status().GetSetBackSuspected(), "contradicts the history")
		})
		if use(t, c, time.Second); h.sealed() {
			t.Error("the cluster sealed itself")
		}
	})
}
