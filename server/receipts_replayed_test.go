package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// bearer is a caller with its own receipts.
type bearer struct {
	t     *testing.T
	token string
	held  []string // all receipts of members
}

// bring opens a stream with receipts, requests an ID, and keeps the receipts that come back.
func (b *bearer) bring(ids snowraftv1.IdServiceClient, receipts ...string) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(as(b.t.Context(), b.token))
	defer cancel()
	var pairs []string
	for _, r := range receipts {
		pairs = append(pairs, rpc.Receipt, r)
	}
	stream, err := ids.StreamIds(metadata.AppendToOutgoingContext(ctx, pairs...))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := stream.Send(&snowraftv1.StreamIdsRequest{Id: 1, TimeoutMs: 1, Request: &snowraftv1.GenerateIdsRequest{}}); err != nil {
		b.t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		b.t.Fatal(err)
	}
	if r := answer.GetReceipt(); len(r) > 0 {
		b.held = append(b.held, string(r))
	}
}

// TestReplayedReceiptsSealNothing replays genuine receipts of all lives and of all their leaderships, those of
// another cluster with the same secret, and forged ones.
func TestReplayedReceiptsSealNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		b := &bearer{t: t}
		n := s.nodes[0]
		for life := range 3 {
			s.nodes = []*node{n}
			b.token, _ = s.token(fmt.Sprint("life-", life), "ids:issue:default")
			n.stays()
			for range 3 {
				b.bring(n.ids)
				wait(t, 2*time.Second)
				n.stop()
				n.start()
				until(t, "the member leads", n.leads)
			}
			if life == 2 {
				break
			}
			old := n
			_ = old.conn.Close()
			old.conn = s.admin(old) // a backup needs more rights
			n, _ = restoredMember(t, old)
			n.cfg.Keys = s.keys
			old.stop()
			n.start()
			until(t, "the restored member leads", n.leads)
		}
		if len(b.held) < 9 {
			t.Fatalf("%d receipts, want 9", len(b.held))
		}
		receipts := trust.Receipts{Keys: s.keys}
		var own position.Position
		for _, r := range b.held {
			p, err := receipts.Check([]byte(r))
			if err != nil {
				t.Fatal(err)
			}
			own = p
		}
		claims, genuine := slices.Clone(b.held), len(b.held)
		other := own
		other.Cluster, other.Nonce, other.Index = [16]byte{1}, [16]byte{2}, own.Index+1000
		claims = append(claims, string(receipts.Make(other)), "", "x", string(make([]byte, 97)))
		for _, r := range b.held {
			claims = append(claims, r[:len(r)-1]+"x", r+"x", r[1:])
		}
		forger := rand.New(rand.NewPCG(1, 2))
		for size := range 2 * len(b.held[0]) { // a random beginning, and one of a receipt
			noise := make([]byte, size)
			for i := range noise {
				noise[i] = byte(forger.Uint32())
			}
			begins := b.held[0] + b.held[1]
			claims = append(claims, string(noise), begins[:size])
		}
		for range 200 {
			forged := []byte(b.held[forger.IntN(len(b.held))])
			forged[5+forger.IntN(len(forged)-5)] ^= 1 << forger.IntN(8)
			claims = append(claims, string(forged))
		}
		for range 2 {
			for part := range slices.Chunk(claims, 4) {
				b.bring(n.ids, part...)
			}
			wait(t, 30*time.Second)
		}
		if sealed := n.server.Member().State().Sealed(); sealed != nil {
			t.Errorf("sealed: %v", sealed)
		}
		invalid := 0
		for _, c := range claims[genuine:] {
			if _, err := receipts.Check([]byte(c)); err != nil && c != "" {
				invalid++
			}
		}
		heard := n.receiptsHeard()
		if valid := float64(2 * genuine); heard["valid"] < valid || heard["invalid"] < float64(2*invalid) {
			t.Errorf("heard %v, want at least %v valid ones and %v invalid ones", heard, valid, 2*invalid)
		}
	})
}

// receiptsHeard returns the receipts that the member heard, by their check.
func (n *node) receiptsHeard() map[string]float64 {
	n.t.Helper()
	families, err := n.server.Metrics().Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	heard := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "snowraft_receipts_heard_total" {
				heard[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return heard
}

// TestFollowerPassesAReceiptOn brings a follower a receipt of another history. Only the leader judges it.
func TestFollowerPassesAReceiptOn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		b := &bearer{t: t}
		b.token, _ = s.token("client", "ids:issue:default")
		n := follower(t, s.nodes)
		receipts := trust.Receipts{Keys: s.keys}
		var other position.Position
		until(t, "the follower hands out a receipt with a hash", func() bool {
			b.bring(n.ids)
			if len(b.held) == 0 {
				return false
			}
			p, err := receipts.Check([]byte(b.held[len(b.held)-1]))
			if err != nil {
				t.Fatal(err)
			}
			other = p
			return p.HashIndex > 0 // the leader has committed a clock
		})
		other.Hash[0] ^= 1
		b.bring(n.ids, string(receipts.Make(other)))
		for _, m := range s.nodes {
			until(t, "the cluster is sealed", func() bool { return m.server.Member().State().Sealed() != nil })
		}
	})
}
