package client

import (
	"context"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/mux"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// IDs issues IDs of one layout by requesting them from members. Concurrent requests share a call.
// Its methods are safe for concurrent use.
//
// A method whose context has no deadline takes at most the client's timeout. Its errors are an [*Error] or
// ErrClosed; if its context ended, the error also matches the error of that context.
type IDs struct {
	layout string
	client *Client
	rpc    snowraftv1.IdServiceClient
	plain  coalescer[[]Range] // requests without a floor
	// floored is for requests with a floor. A member may have to wait until its clock has passed the floor; this must not
	// delay requests without a floor.
	floored coalescer[[]Range]
	highest atomic.Int64 // greatest ID of all answers
}

func newIDs(c *Client, layout string) *IDs {
	i := &IDs{layout: layout, client: c, rpc: snowraftv1.NewIdServiceClient(c.ids)}
	for _, calls := range []*coalescer[[]Range]{&i.plain, &i.floored} {
		*calls = coalescer[[]Range]{fetch: i.fetch, timeout: c.opts.timeout, answerTimeout: idTimeout, suspicious: memorySuspicious, hedge: c.opts.hedge, hooks: &c.opts.hooks}
		if !c.opts.oneShot && streamable(layout) {
			calls.send, calls.suspect = i.send, c.ids.caller.standing.suspect
		}
	}
	if !c.opts.oneShot { // not for floored: its answers may have to wait for a clock
		i.plain.slow = c.idStreams.slow
	}
	return i
}

// send sends a request for a batch on a stream.
func (i *IDs) send(b *batch[[]Range], done func([]Range, error, *former)) (member string, ok bool) {
	count, after := b.count, b.after
	req := &struct { // one allocation for both
		snowraftv1.StreamIdsRequest
		ids snowraftv1.GenerateIdsRequest
	}{}
	req.ids.Layout, req.ids.Count, req.ids.After = i.layout, uint32(count), after
	req.Request = &req.ids
	return i.client.idStreams.send(b.deadline, mux.IDRequest{StreamIdsRequest: &req.StreamIdsRequest}, func(a mux.Answer, failed *former) {
		if failed != nil {
			done(nil, nil, failed)
			return
		}
		answer, err := i.checked(a.(*snowraftv1.StreamIdsResponse).GetResponse(), count, after)
		done(answer, err, nil)
	})
}

// Next returns one ID. IDs of different calls are in no order; for ordered IDs, use a [Session].
func (i *IDs) Next(ctx context.Context) (int64, error) { return i.next(ctx, 0) }

// Append appends n IDs, 1 to 1,000,000, to dst and returns the extended slice. The IDs are in no order. If it fails, it
// appends none.
func (i *IDs) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	return i.expand(ctx, dst, n, 0)
}

// Ranges returns n IDs, 1 to 1,000,000, as ranges. The ranges are in no order. A range represents many IDs in a few
// bytes.
func (i *IDs) Ranges(ctx context.Context, n int) ([]Range, error) {
	answer, offset, err := i.take(ctx, n, 0)
	if err != nil {
		return nil, err
	}
	return slices.AppendSeq([]Range(nil), part(answer, offset, uint64(n))), nil
}

func (i *IDs) next(ctx context.Context, after int64) (int64, error) {
	answer, offset, err := i.take(ctx, 1, after)
	if err != nil {
		return 0, err
	}
	return at(answer, offset), nil
}

func (i *IDs) expand(ctx context.Context, dst []int64, n int, after int64) ([]int64, error) {
	answer, offset, err := i.take(ctx, n, after)
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, n)
	for r := range part(answer, offset, uint64(n)) {
		dst = slices.AppendSeq(dst, r.All())
	}
	return dst, nil
}

// take requests n IDs. The caller's IDs are the n IDs of the answer that start at the offset.
func (i *IDs) take(ctx context.Context, n int, after int64) (answer []Range, offset uint64, err error) {
	if err := checkCount(n, "IDs"); err != nil {
		return nil, 0, err
	}
	switch {
	case after < 0:
		return nil, 0, negative(after)
	case after == 0:
		return i.plain.do(ctx, uint64(n), 0)
	case after > i.highest.Load():
		// No ID received so far is as great as this floor. If the floor is far too high, only this caller must be affected.
		answer, err = i.floored.single(ctx, uint64(n), after)
		return answer, 0, err
	default:
		return i.floored.do(ctx, uint64(n), after)
	}
}

// fetch queries a member.
func (i *IDs) fetch(ctx context.Context, count uint64, after int64) ([]Range, error) {
	resp, err := i.rpc.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: i.layout, Count: uint32(count), After: after})
	if err != nil {
		return nil, err
	}
	return i.checked(resp, count, after)
}

// checked returns the IDs of an answer, or an error if they do not match the request.
func (i *IDs) checked(resp *snowraftv1.GenerateIdsResponse, count uint64, after int64) ([]Range, error) {
	answer, err := checked(resp.GetRanges(), count, after)
	if err != nil {
		return nil, err
	}
	raise(&i.highest, last(answer))
	return answer, nil
}

// streamable reports whether requests with a name can travel on a stream. gRPC cannot encode other names, and would end the
// stream with the requests of all callers.
func streamable(name string) bool { return utf8.ValidString(name) }

// raise sets what to id if id is greater.
func raise(what *atomic.Int64, id int64) {
	for was := what.Load(); id > was && !what.CompareAndSwap(was, id); {
		was = what.Load()
	}
}
