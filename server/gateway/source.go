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
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/issue"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// wait is the time that IDs and numbers may take to come from members, which wait for a leader
// for half of that. So callers learn why there are none before they have given up.
const wait = 2 * route.Wait

// source issues what members issued: IDs from buffers, and numbers by calls that callers share.
type source struct {
	*members
	buffers buffers
	numbers *share.Calls[member.Numbering]
}

var _ issue.Source = (*source)(nil)

func newSource(m *members, open func(layout string) (idSource, error)) *source {
	s := &source{members: m, buffers: buffers{open: open}}
	exhausted := func(err error) bool { return errors.Is(err, client.ErrSequenceExhausted) }
	s.numbers = share.New(limits.Count, limits.CallTimeout, exhausted,
		func(ctx context.Context, key share.Key, count uint64) (member.Numbering, error) {
			if p, ok := key.Principal.(*trust.Principal); ok {
				ctx = trust.WithPrincipal(ctx, p)
			}
			return s.askNext(ctx, key.Sequence, count, "")
		})
	return s
}

// Take takes few IDs from the layout's buffer. IDs above after come from a member: those that are
// buffered may be below it.
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

// UUIDs queries a member, which knows the layout's bits and its cluster's ID.
func (s *source) UUIDs(ctx context.Context, layout string, count uint32) ([]string, error) {
	resp := new(snowraftv1.GenerateUuidsResponse)
	err := s.askSoon(ctx, snowraftv1.IdService_GenerateUuids_FullMethodName, &snowraftv1.GenerateUuidsRequest{Layout: layout, Count: count}, resp)
	return resp.GetUuids(), err
}

// Next serves callers that come during a call to a member with one call, the next. A request with
// an ID has an answer of its own, at the leader.
func (s *source) Next(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error) {
	if requestID != "" || tracing.Sampled(ctx) { // a shared call would be in the trace of one caller only
		return s.askNext(ctx, sequence, count, requestID)
	}
	return s.numbers.Do(ctx, share.Key{Sequence: sequence, Principal: trust.PrincipalOf(ctx)}, count)
}

// TryNext has nothing in memory.
func (*source) TryNext(context.Context, string, uint64) (n member.Numbering, ok bool) {
	return n, false
}

// Last queries a member.
func (s *source) Last(ctx context.Context, sequence string) (int64, bool, error) {
	resp := new(snowraftv1.GetLastResponse)
	err := s.ask(ctx, snowraftv1.SequenceService_GetLast_FullMethodName, &snowraftv1.GetLastRequest{Sequence: sequence}, resp)
	return resp.GetLast(), resp.Last != nil, err
}

func (s *source) askNext(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error) {
	reply := new(snowraftv1.NextNumbersResponse)
	req := &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: uint32(count), RequestId: requestID} //nolint:gosec // at most limits.Count
	if err := s.askSoon(ctx, snowraftv1.SequenceService_NextNumbers_FullMethodName, req, reply); err != nil {
		return member.Numbering{}, err
	}
	return wire.Numbers(reply, count)
}

// askSoon queries a member and gives up after wait.
func (s *source) askSoon(ctx context.Context, method string, req, reply any) error {
	soon, cancel := frontend.Within(ctx, wait)
	defer cancel()
	return overdue(ctx, s.ask(soon, method, req, reply))
}

// overdue is an error of what was given up after wait, for a caller who would have waited
// longer. Where no member said why, there is none that leads or issues.
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
