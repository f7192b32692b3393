package kernel

import (
	"context"
	"sync"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// Taking is a request for IDs, with the IDs that it has taken so far.
type Taking struct {
	IDs  []allocator.Range
	left uint32 // number of missing IDs
}

var takings = sync.Pool{New: func() any { return new(Taking) }}

// NewTaking returns an empty Taking. Call Free when its IDs are not used any longer.
func NewTaking() *Taking { return takings.Get().(*Taking) }

// Free keeps the memory for another Taking.
func (t *Taking) Free() {
	t.Reset()
	takings.Put(t)
}

// Reset makes t empty, and keeps its memory.
func (t *Taking) Reset() { t.IDs = t.IDs[:0] }

// Bounded returns the context of a call that waits. Without a deadline of its own, the call gets limits.CallTimeout.
func Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limits.CallTimeout)
}

// Bounds reports whether the Issuer bounds the calls of a method. Most of them do not wait, and a timer would be a large part of their
// cost.
func Bounds(rule *rpc.Rule) bool {
	return rule != nil && (rule.GetRight() == trust.RightIssueIDs || rule.GetWhere() == snowraftv1.MethodRule_WHERE_BY_MODE)
}
