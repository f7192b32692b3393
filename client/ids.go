package client

import (
	"context"
	"slices"
	"sync/atomic"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// IDs issues IDs of one layout, asking members for them. Requests that come at the same time
// travel in one call. Its methods may be called from any goroutine.
//
// Without a deadline in its context, a method takes at most the client's timeout. Its errors are an
// [*Error] or ErrClosed; one whose context ended matches that context's error too.
type IDs struct {
	layout string
	client *Client
	rpc    snowraftv1.IdServiceClient
	plain  coalescer[[]Range] // of requests without a floor
	// floored is of requests with one. A member may have to wait for its clock to pass the floor, which
	// is not to hold back those who have none.
	floored coalescer[[]Range]
	highest atomic.Int64 // the greatest ID that was answered
}

func newIDs(c *Client, layout string) *IDs {
	i := &IDs{layout: layout, client: c, rpc: snowraftv1.NewIdServiceClient(c.ids)}
	for _, calls := range []*coalescer[[]Range]{&i.plain, &i.floored} {
		*calls = coalescer[[]Range]{fetch: i.fetch, timeout: c.opts.timeout, patience: idPatience, suspicious: memorySuspicious, hedge: c.opts.hedge, hooks: &c.opts.hooks}
		if !c.opts.oneShot {
			calls.ship, calls.late = i.ship, c.ids.caller.standing.suspect
		}
	}
	if !c.opts.oneShot { // members answer requests with a floor when the floor has passed
		i.plain.slow = c.idStreams.slow
	}
	return i
}

// ship sends a request for a batch on a stream.
func (i *IDs) ship(b *batch[[]Range], landed func([]Range, error, *former)) (member string, ok bool) {
	count, after := b.count, b.after
	req := &struct { // in one piece
		snowraftv1.StreamIdsRequest
		ids snowraftv1.GenerateIdsRequest
	}{}
	req.ids.Layout, req.ids.Count, req.ids.After = i.layout, uint32(count), after
	req.Request = &req.ids
	return i.client.idStreams.send(b.deadline, idRequest{&req.StreamIdsRequest}, func(a carriedAnswer, failed *former) {
		if failed != nil {
			landed(nil, nil, failed)
			return
		}
		answer, err := i.checked(a.(*snowraftv1.StreamIdsResponse).GetResponse(), count, after)
		landed(answer, err, nil)
	})
}

// idRequest is a request for IDs.
type idRequest struct{ *snowraftv1.StreamIdsRequest }

func (r idRequest) address(id uint64, timeoutMillis uint32) { r.Id, r.TimeoutMs = id, timeoutMillis }

// Next returns one ID. It is in no order with those of other calls; a [Session] has one.
func (i *IDs) Next(ctx context.Context) (int64, error) { return i.next(ctx, 0) }

// Append appends n IDs, 1 to 1,000,000, to dst and returns it. They are in no order. If it fails it
// appends none.
func (i *IDs) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	return i.expand(ctx, dst, n, 0)
}

// Ranges returns n IDs, 1 to 1,000,000, as ranges, which are in no order: some ten bytes stand for
// many IDs.
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

// take gets n IDs: those of the answer from the offset on.
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
		// The origin of this floor is not known. If it is far too high only its owner is to suffer.
		answer, err = i.floored.alone(ctx, uint64(n), after)
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

// checked returns the IDs of an answer, if it is one to the request.
func (i *IDs) checked(resp *snowraftv1.GenerateIdsResponse, count uint64, after int64) ([]Range, error) {
	answer, err := checked(resp.GetRanges(), count, after)
	if err != nil {
		return nil, err
	}
	raise(&i.highest, last(answer))
	return answer, nil
}

// raise sets what to id if that is greater.
func raise(what *atomic.Int64, id int64) {
	for was := what.Load(); id > was && !what.CompareAndSwap(was, id); {
		was = what.Load()
	}
}
