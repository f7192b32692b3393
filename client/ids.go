package client

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/allocator"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Range is IDs that are evenly spaced: First, First + Step, and so on, Count of them.
type Range = allocator.Range

// IDs issues IDs of one layout, asking members for them. Requests that come at the same time
// travel in one call. Its methods may be called from any goroutine.
type IDs struct {
	layout string
	client *Client
	calls  coalescer[[]Range]
	rpc    snowraftv1.IdServiceClient
}

func newIDs(c *Client, layout string) *IDs {
	i := &IDs{layout: layout, client: c, rpc: snowraftv1.NewIdServiceClient(c.ids)}
	i.calls = coalescer[[]Range]{fetch: i.fetch, timeout: c.opts.timeout, hooks: &c.opts.hooks}
	return i
}

// Next returns one ID. IDs are in no order with those of other calls; a [Session] has one.
//
// Without a deadline in ctx it takes at most the client's timeout. Its errors are an [*Error],
// ErrClosed, and that of ctx.
func (i *IDs) Next(ctx context.Context) (uint64, error) { return i.next(ctx, 0) }

func (i *IDs) next(ctx context.Context, after uint64) (uint64, error) {
	answer, offset, err := i.calls.do(ctx, 1, after)
	if err != nil {
		return 0, err
	}
	for _, r := range answer {
		if offset < uint64(r.Count) {
			return r.First + offset*r.Step, nil
		}
		offset -= uint64(r.Count)
	}
	return 0, errShort
}

// Ranges returns n IDs, 1 to 1,000,000, as ranges, in no order. It fails as Next does.
func (i *IDs) Ranges(ctx context.Context, n int) ([]Range, error) { return i.ranges(ctx, n, 0) }

func (i *IDs) ranges(ctx context.Context, n int, after uint64) ([]Range, error) {
	if n < 1 || n > maxCount {
		return nil, &Error{Reason: string(ErrInvalidArgument.(condition)), message: fmt.Sprintf("%d IDs were asked for, expected 1 to %d", n, maxCount)}
	}
	answer, offset, err := i.calls.do(ctx, uint64(n), after)
	if err != nil {
		return nil, err
	}
	return part(answer, offset, uint64(n))
}

// part is count IDs from an offset on.
func part(all []Range, offset, count uint64) (mine []Range, err error) {
	for _, r := range all {
		have := uint64(r.Count)
		if offset >= have {
			offset -= have
			continue
		}
		take := min(have-offset, count)
		mine = append(mine, Range{First: r.First + offset*r.Step, Count: uint32(take), Step: r.Step})
		offset, count = 0, count-take
		if count == 0 {
			return mine, nil
		}
	}
	return nil, errShort
}

// errShort is not expected of any member.
var errShort = &Error{message: "the member answered with fewer IDs than were asked for"}

func (i *IDs) fetch(ctx context.Context, count, after uint64) ([]Range, error) {
	i.client.members.start()
	resp, err := i.rpc.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: i.layout, Count: uint32(count), After: after})
	if err != nil {
		return nil, err
	}
	answer := make([]Range, len(resp.GetRanges()))
	for n, r := range resp.GetRanges() {
		answer[n] = Range{First: r.GetFirst(), Count: r.GetCount(), Step: r.GetStep()}
	}
	return answer, nil
}
