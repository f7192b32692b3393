package kernel

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// Next issues numbers to the caller of a context, as [Source].Next does. Its errors are gRPC statuses.
func (k *Kernel) Next(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error) {
	return k.NextOf(ctx, sequence, count, member.PeriodRequest{RequestID: requestID})
}

// NextOf is Next for the numbers of one period, if the request names one.
func (k *Kernel) NextOf(ctx context.Context, sequence string, count uint64, r member.PeriodRequest) (n member.Numbering, err error) {
	a, err := trust.PrincipalOf(ctx).Admit(trust.RightNextNumbers, sequence)
	if err == nil {
		n, err = k.next(ctx, &a, sequence, count, r, false)
	}
	return n, wire.Status(err)
}

// TryNext is Next without a wait. If ok is false, nothing was issued; Next returns the numbers or the error.
func (k *Kernel) TryNext(ctx context.Context, sequence string, count uint64) (n member.Numbering, ok bool) {
	a, err := trust.PrincipalOf(ctx).Admit(trust.RightNextNumbers, sequence)
	if err != nil || CheckNext(count, "") != nil || spend(&a, trust.RightNextNumbers, sequence, count) != nil {
		return n, false
	}
	if n, ok = k.Source.TryNext(sequence, count); ok {
		k.countNumbers(n)
	} else {
		a.Principal().Refund(count)
	}
	return n, ok
}

// Last returns the last number to the caller of a context, as [Source].Last does. Its errors are gRPC statuses.
func (k *Kernel) Last(ctx context.Context, sequence string) (last int64, ok bool, err error) {
	a, err := trust.PrincipalOf(ctx).Admit(trust.RightReadSequence, sequence)
	if err == nil {
		last, ok, err = k.last(ctx, a, sequence)
	}
	return last, ok, wire.Status(err)
}

// NextNumbers serves a request for numbers. Those of a request that another member forwarded count there, also against the rate.
func (k *Kernel) NextNumbers(ctx context.Context, a trust.Admission, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	sequence, relayed := req.GetSequence(), trust.RelayOf(ctx) != ""
	n, err := k.next(ctx, &a, sequence, uint64(req.GetCount()), periodRequest(req), relayed)
	if err != nil {
		return nil, err
	}
	return wire.NumbersResponse(sequence, n, !relayed), nil
}

// Numbering is the numbers that a request gets.
type Numbering = member.Numbering

// Waiter is a request for numbers that waits without a goroutine.
type Waiter interface {
	// Wait returns the context of the wait. It reports whether there is memory for the request.
	Wait() (ctx context.Context, ok bool)
	// Leave ends the wait, without an outcome.
	Leave()
	// Numbered ends the wait. It must not wait.
	Numbered(Numbering, error)
}

// BeginNumbers is NextNumbers without a wait, for a request without an ID that no member forwarded. If begun is true, the waiter
// gets the outcome, perhaps before BeginNumbers returns. If it is false and the answer is nil, nothing was issued; call NextNumbers.
func (k *Kernel) BeginNumbers(a *trust.Admission, req *snowraftv1.NextNumbersRequest, w Waiter) (resp *snowraftv1.NextNumbersResponse, begun bool) {
	sequence, count := req.GetSequence(), uint64(req.GetCount())
	if CheckNext(count, "") != nil || spend(a, trust.RightNextNumbers, sequence, count) != nil {
		return nil, false
	}
	if n, ok := k.Source.TryNext(sequence, count); ok {
		k.countNumbers(n)
		return wire.NumbersResponse(sequence, n, true), false
	}
	if ctx, ok := w.Wait(); ok {
		if k.Source.Begin(ctx, sequence, count, func(n member.Numbering, err error) {
			if err = k.finish(a, count, err); err == nil {
				k.countNumbers(n)
			}
			w.Numbered(n, err)
		}) {
			return nil, true
		}
		w.Leave()
	}
	a.Principal().Refund(count)
	return nil, false
}

// GetLast serves a request for the last number.
func (k *Kernel) GetLast(ctx context.Context, a trust.Admission, req *snowraftv1.GetLastRequest) (*snowraftv1.GetLastResponse, error) {
	last, ok, err := k.last(ctx, a, req.GetSequence())
	return wire.LastResponse(last, ok), err
}

// next issues numbers. relayed means that another member forwarded the request. Only a caller that may change the sequence states the
// end of a period, because an untrue statement repeats numbers.
func (k *Kernel) next(ctx context.Context, a *trust.Admission, sequence string, count uint64, r member.PeriodRequest, relayed bool) (n member.Numbering, err error) {
	if err := CheckNext(count, r.RequestID); err != nil {
		return n, err
	}
	if r.From != nil {
		if err := a.Principal().Authorize(trust.RightAdminSequence, sequence); err != nil {
			return n, err
		}
	}
	charged := count
	if relayed {
		charged = 0
	}
	if err := spend(a, trust.RightNextNumbers, sequence, charged); err != nil {
		return n, err
	}
	n, err = k.ask(ctx, a, sequence, count, r, relayed)
	if relayed {
		if err == nil {
			err = a.Still()
		}
		return n, err
	}
	if err = k.finish(a, count, err); err == nil {
		k.countNumbers(n)
	}
	return n, err
}

// ask requests numbers of the source. A call without a deadline gets one only if it waits: the timer would be a notable part of
// the cost of a call that does not.
func (k *Kernel) ask(ctx context.Context, a *trust.Admission, sequence string, count uint64, r member.PeriodRequest, relayed bool) (member.Numbering, error) {
	if ofPeriod(r) || r.RequestID != "" {
		ctx = trust.WithAdmission(ctx, *a) // a proposal of the caller; other numbers come from blocks of members
	} else if _, bounded := ctx.Deadline(); !bounded && !relayed {
		if n, ok := k.Source.TryNext(sequence, count); ok {
			return n, nil
		}
	}
	ctx, cancel := Bounded(ctx)
	defer cancel()
	if ofPeriod(r) {
		return k.Source.NextOfPeriod(ctx, sequence, count, r)
	}
	return k.Source.Next(ctx, sequence, count, r.RequestID)
}

func (k *Kernel) last(ctx context.Context, a trust.Admission, sequence string) (last int64, ok bool, err error) {
	if err := spend(&a, trust.RightReadSequence, sequence, 0); err != nil {
		return 0, false, err
	}
	ctx, cancel := Bounded(ctx)
	defer cancel()
	if last, ok, err = k.Source.Last(ctx, sequence); err == nil {
		err = a.Still()
	}
	return last, ok, err
}

func (k *Kernel) countNumbers(n member.Numbering) {
	counter := k.relaxed
	if n.Strict {
		counter = k.strict
	}
	counter.Add(float64(n.Count))
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

// PeriodRequest is the part of a request for numbers that names a period.
type PeriodRequest = member.PeriodRequest

// OfPeriod reports whether a request is for numbers of one period only.
func OfPeriod(req *snowraftv1.NextNumbersRequest) bool {
	return ofPeriod(periodRequest(req))
}

func ofPeriod(r member.PeriodRequest) bool { return r.Period != "" || r.From != nil }

func periodRequest(req *snowraftv1.NextNumbersRequest) member.PeriodRequest {
	return member.PeriodRequest{Period: req.GetPeriod(), From: req.From, RequestID: req.GetRequestId()}
}
