package kernel

import (
	"context"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/member"
)

// Source issues IDs and numbers. A member issues from its memory or at the leader, a gateway sends requests to members. Errors
// are errors of the domain or the errors that members sent. Its methods may be called from any goroutine.
type Source interface {
	// Take appends count IDs of a layout to ids, each above after. An empty layout means the default layout. With an error, the
	// result may have IDs that were taken before. No other caller gets them.
	// TryTake does the same with the IDs that are in memory, and does not wait. left is the number of missing IDs; Take returns them
	// or the error.
	TryTake(ids []allocator.Range, layout string, count uint32, after uint64) (_ []allocator.Range, left uint32)
	Take(ctx context.Context, ids []allocator.Range, layout string, count uint32, after uint64) ([]allocator.Range, error)
	// UUIDs returns count IDs of a layout as UUIDs of version 7.
	UUIDs(ctx context.Context, layout string, count uint32) ([]string, error)
	// Next returns the next count numbers of a sequence. A repeated request with the same nonempty request ID gets the same
	// numbers again. The context of a request with an ID has its admission. Only the leader answers a request that another member
	// forwarded.
	Next(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error)
	// NextOfPeriod returns the next count numbers of one period of a sequence, from the leader. The context has the admission.
	NextOfPeriod(ctx context.Context, sequence string, count uint64, r member.PeriodRequest) (member.Numbering, error)
	// TryNext is Next for a relaxed sequence whose numbers are in memory; it does not wait. If ok is false, nothing was issued;
	// call Next for the numbers or the error.
	TryNext(sequence string, count uint64) (n member.Numbering, ok bool)
	// Begin is Next for a request without an ID, on behalf of the caller of ctx, if the numbers come from a call that callers
	// share. done takes the outcome, when ctx ends at the latest, on a goroutine that serves other callers after it. If begun is
	// false, done is not called, and nothing was issued.
	Begin(ctx context.Context, sequence string, count uint64, done func(member.Numbering, error)) (begun bool)
	// Coded reports whether an answer may hold a text for each number of a sequence, whatever their count, because only members
	// have the key of its codes.
	Coded(sequence string) bool
	// Last returns the last issued number, if there is one. For a strict sequence the read is linearizable.
	Last(ctx context.Context, sequence string) (last int64, ok bool, err error)
}
