// Package receipt keeps the latest receipt that members handed to a process. The process brings it back when it
// connects, so that a cluster that was set back in time learns what it has forgotten. The main type is [Latest].
package receipt

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// Latest is the latest receipt. Its zero value holds none. It is safe for concurrent use.
type Latest struct {
	mu   sync.Mutex // held by writers
	held atomic.Pointer[held]
}

type held struct {
	bytes string
	of    position.Position
}

// message is an answer that may have a receipt.
type message interface{ GetReceipt() []byte }

// Carries reports whether a message is of a type that may have a receipt.
func Carries(m any) bool {
	_, ok := m.(message)
	return ok
}

// Keep takes the receipt of an answer, if the answer has one that is later than the present one. It ignores a
// malformed receipt.
func (l *Latest) Keep(answer any) {
	m, ok := answer.(message)
	if !ok || len(m.GetReceipt()) == 0 {
		return
	}
	p, err := trust.ReceiptPosition(m.GetReceipt())
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.held.Load(); now == nil || follows(p, now.of) {
		l.held.Store(&held{string(m.GetReceipt()), p})
	}
}

// follows reports whether p takes the place of q. Positions of two clusters with equally many lives are in no order:
// the last one counts, which is of the cluster that the process uses now.
func follows(p, q position.Position) bool {
	if p.Life == q.Life && p.Cluster != q.Cluster {
		return true
	}
	return q.Before(p)
}

// Bytes returns the receipt; nil if there is none.
func (l *Latest) Bytes() []byte {
	now := l.held.Load()
	if now == nil {
		return nil
	}
	return []byte(now.bytes)
}

// Bring returns a context whose call brings the receipt to a member.
func (l *Latest) Bring(ctx context.Context) context.Context {
	now := l.held.Load()
	if now == nil {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, rpc.Receipt, now.bytes)
}
