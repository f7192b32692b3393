package kernel

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/cowmap"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
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
	// numbers again.
	Next(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error)
	// TryNext is Next for a relaxed sequence whose numbers are in memory; it does not wait. If ok is false, nothing was issued;
	// call Next for the numbers or the error.
	TryNext(ctx context.Context, sequence string, count uint64) (n member.Numbering, ok bool)
	// Last returns the last issued number, if there is one. For a strict sequence the read is linearizable.
	Last(ctx context.Context, sequence string) (last int64, ok bool, err error)
	// NextAtLeader and LastAtLeader are Next and Last for requests that another member forwarded; only the leader answers them.
	NextAtLeader(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error)
	LastAtLeader(ctx context.Context, sequence string) (last int64, ok bool, err error)
}

// Counter is the counting part of prometheus.Counter.
type Counter interface{ Add(float64) }

// Counters are the counters of an Issuer.
type Counters struct {
	IDs             func(layout string) Counter // called once or twice for a layout
	Strict, Relaxed Counter                     // numbers, by the sequence's mode
}

// Issuer checks requests and the rates of their callers, calls the source and counts issued IDs and numbers. Its methods may be
// called from any goroutine. A failed request does not count against the rate of its token.
//
// In a secured cluster, nothing is issued for a call that was not admitted with its right, and nothing for a caller that lost
// the right while the call waited.
type Issuer struct {
	source   Source
	counters Counters
	secured  bool                        // calls need an admission
	relayed  func(context.Context) bool  // another member forwarded the call
	ids      cowmap.Map[string, Counter] // keyed by layout name of the request; only layouts with issued IDs
	refused  atomic.Uint64               // requests for IDs or numbers that failed
}

// NewIssuer returns an Issuer. If secured is true, each call needs an admission, and is subject to the rate of its caller's token.
// Otherwise every caller has every right. relayed reports whether another member forwarded the call, which checked and counts its rate.
func NewIssuer(source Source, counters Counters, secured bool, relayed func(context.Context) bool) *Issuer {
	return &Issuer{source: source, counters: counters, secured: secured, relayed: relayed}
}

// spend returns an error unless the call was admitted with a right and the rate of its caller allows count numbers. Call refund
// for numbers that are not issued after that.
func (i *Issuer) spend(a *trust.Admission, right, resource string, count uint64) error {
	if !i.secured {
		return nil
	}
	if !a.Covers(right, resource) {
		return rpc.NewError(rpc.Internal, fmt.Sprintf("nothing has admitted a call with the right %s", right))
	}
	return a.Principal().Spend(count)
}

func (i *Issuer) refund(a *trust.Admission, count uint64) {
	if i.secured {
		a.Principal().Refund(count)
	}
}

// finish returns the error of a request that may have waited: err, or that of a caller that has lost its right meanwhile. It
// counts a failed request and refunds its numbers.
func (i *Issuer) finish(a *trust.Admission, count uint64, err error) error {
	if err == nil {
		err = a.Still()
	}
	if err != nil {
		i.refused.Add(1)
		i.refund(a, count)
	}
	return err
}

// Refused returns the number of failed requests for IDs or numbers that had been admitted.
func (i *Issuer) Refused() uint64 { return i.refused.Load() }

// countIDs counts issued IDs. Call it only after the source issued, so that a layout that does not exist gets no counter.
func (i *Issuer) countIDs(layout string, count uint32) {
	i.ids.Get(layout, func(layout string) Counter {
		return i.counters.IDs(cmp.Or(layout, snowflake.Default().Name()))
	}).Add(float64(count))
}

func (i *Issuer) countNumbers(n member.Numbering) {
	counter := i.counters.Relaxed
	if n.Strict {
		counter = i.counters.Strict
	}
	counter.Add(float64(n.Count))
}

// Take takes count IDs of a layout as [Source].Take does. count is 1 to limits.Count.
func (i *Issuer) Take(ctx context.Context, a *trust.Admission, t *Taking, layout string, count uint32, after uint64) error {
	if done, err := i.TryTake(a, t, layout, count, after); done {
		return err
	}
	return i.TakeRest(ctx, a, t, layout, count, after)
}

// TryTake is Take without a wait. If done is false, call TakeRest with the same arguments.
func (i *Issuer) TryTake(a *trust.Admission, t *Taking, layout string, count uint32, after uint64) (done bool, err error) {
	if limit := uint32(limits.Count); count < 1 || count > limit {
		return true, wire.Invalid(fmt.Sprintf("count %d: expected at most %d IDs per call", count, limit))
	}
	if err := i.spend(a, trust.RightIssueIDs, cmp.Or(layout, snowflake.Default().Name()), uint64(count)); err != nil {
		return true, err
	}
	if t.IDs, t.left = i.source.TryTake(t.IDs, layout, count, after); t.left > 0 {
		return false, nil
	}
	return true, i.took(a, layout, count, nil)
}

// TakeRest takes the IDs that TryTake did not take, and waits for them.
func (i *Issuer) TakeRest(ctx context.Context, a *trust.Admission, t *Taking, layout string, count uint32, after uint64) (err error) {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	t.IDs, err = i.source.Take(ctx, t.IDs, layout, t.left, after)
	return i.took(a, layout, count, err)
}

// took is finish for a request for IDs, which it counts if they are issued.
func (i *Issuer) took(a *trust.Admission, layout string, count uint32, err error) error {
	if err = i.finish(a, uint64(count), err); err == nil {
		i.countIDs(layout, count)
	}
	return err
}

// UUIDs returns IDs as [Source].UUIDs does. count is 1 to limits.Texts.
func (i *Issuer) UUIDs(ctx context.Context, a trust.Admission, layout string, count uint32) ([]string, error) {
	if limit := uint32(limits.Texts); count < 1 || count > limit {
		return nil, wire.Invalid(fmt.Sprintf("count %d: expected at most %d UUIDs per call", count, limit))
	}
	if err := i.spend(&a, trust.RightIssueIDs, cmp.Or(layout, snowflake.Default().Name()), uint64(count)); err != nil {
		return nil, err
	}
	ctx, cancel := Bounded(ctx)
	defer cancel()
	uuids, err := i.source.UUIDs(ctx, layout, count)
	if err = i.took(&a, layout, count, err); err != nil {
		return nil, err
	}
	return uuids, nil
}

// Next returns numbers as [Source].Next does. Its arguments must pass [CheckNext].
func (i *Issuer) Next(ctx context.Context, a trust.Admission, sequence string, count uint64, requestID string) (member.Numbering, error) {
	if err := CheckNext(count, requestID); err != nil {
		return member.Numbering{}, err
	}
	if err := i.spend(&a, trust.RightNextNumbers, sequence, count); err != nil {
		return member.Numbering{}, err
	}
	n, err := i.next(ctx, a, sequence, count, requestID)
	if err = i.finish(&a, count, err); err != nil {
		return member.Numbering{}, err
	}
	i.countNumbers(n)
	return n, nil
}

// next requests numbers of the source. A call without a deadline gets one only if it waits: the timer would be a notable part of
// the cost of a call that does not.
func (i *Issuer) next(ctx context.Context, a trust.Admission, sequence string, count uint64, requestID string) (member.Numbering, error) {
	if requestID != "" {
		ctx = trust.WithAdmission(ctx, a) // a proposal of the caller; other numbers come from blocks of members
	} else if _, bounded := ctx.Deadline(); !bounded {
		if n, ok := i.source.TryNext(ctx, sequence, count); ok {
			return n, nil
		}
	}
	ctx, cancel := Bounded(ctx)
	defer cancel()
	return i.source.Next(ctx, sequence, count, requestID)
}

// TryNext returns numbers as [Source].TryNext does.
func (i *Issuer) TryNext(ctx context.Context, a trust.Admission, sequence string, count uint64) (n member.Numbering, ok bool) {
	if CheckNext(count, "") != nil || i.spend(&a, trust.RightNextNumbers, sequence, count) != nil {
		return n, false
	}
	if n, ok = i.source.TryNext(ctx, sequence, count); ok {
		i.countNumbers(n)
	} else {
		i.refund(&a, count)
	}
	return n, ok
}

// NextNumbers serves a request for numbers. A relayed request is answered as the leader. Its numbers count at the other member, also
// against the rate.
func (i *Issuer) NextNumbers(ctx context.Context, a trust.Admission,
	req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	sequence, count := req.GetSequence(), uint64(req.GetCount())
	if !i.relayed(ctx) {
		n, err := i.Next(ctx, a, sequence, count, req.GetRequestId())
		if err != nil {
			return nil, err
		}
		return wire.NumbersResponse(sequence, n, true), nil
	}
	if err := CheckNext(count, req.GetRequestId()); err != nil {
		return nil, err
	}
	if err := i.spend(&a, trust.RightNextNumbers, sequence, 0); err != nil {
		return nil, err
	}
	if req.GetRequestId() != "" {
		ctx = trust.WithAdmission(ctx, a)
	}
	ctx, cancel := Bounded(ctx)
	defer cancel()
	n, err := i.source.NextAtLeader(ctx, sequence, count, req.GetRequestId())
	if err == nil {
		err = a.Still()
	}
	if err != nil {
		return nil, err
	}
	return wire.NumbersResponse(sequence, n, false), nil
}

// Last returns the last number as [Source].Last does. A relayed request is answered as the leader.
func (i *Issuer) Last(ctx context.Context, a trust.Admission, sequence string) (last int64, ok bool, err error) {
	if err := i.spend(&a, trust.RightReadSequence, sequence, 0); err != nil {
		return 0, false, err
	}
	relayed := i.relayed(ctx)
	ctx, cancel := Bounded(ctx)
	defer cancel()
	if relayed {
		last, ok, err = i.source.LastAtLeader(ctx, sequence)
	} else {
		last, ok, err = i.source.Last(ctx, sequence)
	}
	if err == nil {
		err = a.Still()
	}
	return last, ok, err
}

// CheckNext returns an error for a request for numbers that no sequence can serve: count must be 1 to limits.Count, and the
// request ID must pass [CheckRequestID].
func CheckNext(count uint64, requestID string) error {
	if count < 1 || count > limits.Count {
		return wire.Invalid(fmt.Sprintf("count %d: expected 1 to %d numbers per call", count, limits.Count))
	}
	return CheckRequestID(requestID)
}

// CheckRequestID returns an error unless a request ID, which may be empty, is UTF-8 of at most limits.RequestIDBytes bytes.
func CheckRequestID(requestID string) error {
	if !utf8.ValidString(requestID) {
		return wire.Invalid("request ID: expected UTF-8")
	}
	if len(requestID) > limits.RequestIDBytes {
		return wire.Invalid(fmt.Sprintf("request ID of %d bytes: expected at most %d bytes", len(requestID), limits.RequestIDBytes))
	}
	return nil
}
