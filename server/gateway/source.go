package gateway

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/route"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/internal/tracing"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// wait bounds the wait for IDs and numbers from members. Members wait for a leader for half of that time, so callers learn the
// reason of a failure before they give up.
const wait = 2 * route.Wait

// source issues IDs and numbers that members issued: IDs from buffers, and numbers by calls that callers share.
type source struct {
	*members
	buffers buffers
	numbers *share.Calls[member.Numbering]
}

var _ kernel.Source = (*source)(nil)

func newSource(m *members, open func(layout string) (idSource, error)) *source {
	s := &source{members: m, buffers: buffers{open: open}}
	exhausted := func(err error) bool { return errors.Is(err, client.ErrSequenceExhausted) }
	s.numbers = share.New(limits.Texts, limits.CallTimeout, exhausted,
		func(ctx context.Context, key share.Key, count uint64) (member.Numbering, error) {
			if p, ok := key.Principal.(*trust.Principal); ok {
				ctx = trust.WithPrincipal(ctx, p)
			}
			return s.askNext(ctx, key.Sequence, count, "")
		})
	return s
}

// TryTake takes at most maxBuffered IDs from the layout's buffer.
// Coded returns true, because a gateway knows no settings of sequences.
func (s *source) Coded(string) bool { return true }

func (s *source) TryTake(ids []allocator.Range, layout string, count uint32, after uint64) ([]allocator.Range, uint32) {
	if buffer := s.buffers.of(layout); buffer != nil && count <= maxBuffered && after == 0 {
		return tryFromSource(buffer, ids, count)
	}
	return ids, count
}

// Take takes at most maxBuffered IDs from the layout's buffer. Other requests go to a member. So do requests with after, because
// buffered IDs may be below after.
func (s *source) Take(ctx context.Context, ids []allocator.Range, layout string, count uint32, after uint64) ([]allocator.Range, error) {
	if buffer := s.buffers.of(layout); buffer != nil && count <= maxBuffered && after == 0 {
		return fromSource(ctx, buffer, ids, count)
	}
	resp := new(snowraftv1.GenerateIdsResponse)
	req := &snowraftv1.GenerateIdsRequest{Layout: layout, Count: count, After: int64(after)} //nolint:gosec // requests carry it as int64
	err := s.askSoon(ctx, snowraftv1.IdService_GenerateIds_FullMethodName, req, resp)
	if err == nil {
		err = s.buffers.add(layout)
	}
	if err != nil {
		return ids, err
	}
	return wire.IDs(ids, resp, count)
}

// UUIDs requests UUIDs from a member, which knows the layout's bits and the ID of the cluster.
func (s *source) UUIDs(ctx context.Context, layout string, count uint32) ([]string, error) {
	resp := new(snowraftv1.GenerateUuidsResponse)
	err := s.askSoon(ctx, snowraftv1.IdService_GenerateUuids_FullMethodName, &snowraftv1.GenerateUuidsRequest{Layout: layout, Count: count}, resp)
	return resp.GetUuids(), err
}

// Next requests numbers from a member. Callers that arrive during a call share the next call. A request with a request ID is a
// call of its own, because the leader keeps its answer.
func (s *source) Next(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error) {
	if requestID != "" || tracing.Sampled(ctx) { // the trace of only one caller would contain a shared call
		return s.askNext(ctx, sequence, count, requestID)
	}
	return s.numbers.Do(ctx, share.Key{Sequence: sequence, Principal: trust.PrincipalOf(ctx)}, count)
}

// NextOfPeriod requests numbers of one period from a member.
func (s *source) NextOfPeriod(ctx context.Context, sequence string, count uint64, r member.PeriodRequest) (member.Numbering, error) {
	return s.request(ctx, wire.NumbersRequest(sequence, count, r))
}

// TryNext returns false, because a gateway has no numbers in memory.
func (*source) TryNext(string, uint64) (n member.Numbering, ok bool) {
	return n, false
}

// Begin shares a call to a member.
func (s *source) Begin(ctx context.Context, sequence string, count uint64, done func(member.Numbering, error)) bool {
	if tracing.Sampled(ctx) {
		return false
	}
	s.numbers.Begin(ctx, share.Key{Sequence: sequence, Principal: trust.PrincipalOf(ctx)}, count, done)
	return true
}

// Last requests the last number from a member.
func (s *source) Last(ctx context.Context, sequence string) (int64, bool, error) {
	resp := new(snowraftv1.GetLastResponse)
	err := s.ask(ctx, snowraftv1.SequenceService_GetLast_FullMethodName, &snowraftv1.GetLastRequest{Sequence: sequence}, resp)
	return resp.GetLast(), resp.Last != nil, err
}

func (s *source) askNext(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error) {
	return s.request(ctx, &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: uint32(count), RequestId: requestID}) //nolint:gosec // at most limits.Count
}

func (s *source) request(ctx context.Context, req *snowraftv1.NextNumbersRequest) (member.Numbering, error) {
	reply := new(snowraftv1.NextNumbersResponse)
	if err := s.askSoon(ctx, snowraftv1.SequenceService_NextNumbers_FullMethodName, req, reply); err != nil {
		return member.Numbering{}, err
	}
	return wire.Numbers(reply, uint64(req.GetCount()))
}

// askSoon is ask with a timeout of wait.
func (s *source) askSoon(ctx context.Context, method string, req, reply any) error {
	soon, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return overdue(ctx, s.ask(soon, method, req, reply))
}

// overdue returns the error of a call that ended after wait, for a caller that would have waited longer. If no member reported a
// reason, the reason is NoLeader.
func overdue(caller context.Context, err error) error {
	if err == nil {
		return nil
	}
	e := rpc.FromError(err)
	late := e.Code == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded)
	if !late || e.Reason != "" || caller.Err() != nil {
		return err
	}
	return rpc.NewError(rpc.NoLeader, fmt.Sprintf("no member could answer within %v: %v", wait, err))
}
