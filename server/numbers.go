package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/mutant"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// next gives out numbers of a sequence, for every door: of a relaxed one from this
// member's memory, of a strict one, and for requests with an ID, at the leader.
func (s *Server) next(ctx context.Context, name string, count uint64, requestID string) (member.Numbering, error) {
	if err := checkNext(count, requestID); err != nil {
		return member.Numbering{}, err
	}
	if requestID != "" {
		return s.nextAtLeader(ctx, name, count, requestID)
	}
	n, err := s.member.Next(ctx, name, count)
	if err != nil && leaderless(err) {
		n, err = s.nextHeld(ctx, name, count)
	}
	if err != nil && rpc.FromError(toStatus(err)).Reason == rpc.StrictSequence { // also when the leader alone knows that yet
		n, err = s.nextStrict(ctx, name, count)
	}
	if err == nil {
		s.metrics.numbers.Add(float64(count))
	}
	return n, err
}

// leaderless reports whether a block was not granted because no leader answered. Numbers were
// not given out then, whatever became of the block.
func leaderless(err error) bool {
	e := rpc.FromError(toStatus(err))
	switch e.Reason {
	case rpc.NoLeader, rpc.NotLeader, rpc.CommitUnknown:
		return true
	default:
		return e.Reason == "" && e.Code == codes.Unavailable // no connection to it
	}
}

// nextHeld is next of a relaxed sequence that needs a block while there is no leader to grant it.
func (s *Server) nextHeld(ctx context.Context, name string, count uint64) (n member.Numbering, err error) {
	err = s.hold(ctx, func() (err error) {
		n, err = s.member.Next(ctx, name, count)
		return err
	}, leaderless)
	if err != nil && leaderless(err) && rpc.FromError(toStatus(err)).Reason != rpc.NoLeader {
		return n, &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, RetryAfter: rpc.RetrySoon,
			Message: fmt.Sprintf("no leader grants numbers of sequence %q now: %v", name, err)}
	}
	return n, err
}

func (s *Server) nextStrict(ctx context.Context, name string, count uint64) (member.Numbering, error) {
	if s.member.Node().IsLeader() {
		return s.nextAtLeader(ctx, name, count, "")
	}
	return s.strict.next(ctx, name, count)
}

func checkNext(count uint64, requestID string) error {
	if count < 1 || count > limits.Count {
		return invalid(fmt.Sprintf("count is %d, expected 1 to %d numbers a call", count, limits.Count))
	}
	return checkRequestID(requestID)
}

func checkRequestID(requestID string) error {
	if len(requestID) > limits.RequestIDBytes {
		return invalid(fmt.Sprintf("the request ID has %d bytes, at most %d are allowed", len(requestID), limits.RequestIDBytes))
	}
	return nil
}

// nextAtLeader is next at the leader, be that this member or another.
func (s *Server) nextAtLeader(ctx context.Context, name string, count uint64, requestID string) (member.Numbering, error) {
	req := &snowraftv1.NextRequest{Sequence: name, Count: uint32(count), RequestId: requestID} //nolint:gosec // at most limits.Count
	if mutant.On(mutant.ForwardWithoutID) {
		req.RequestId = ""
	}
	var here member.Numbering
	reply, err := s.atLeader(ctx, snowraftv1.SequenceService_Next_FullMethodName, req, func(ctx context.Context, _ any) (any, error) {
		var err error
		here, err = s.member.NextAtLeader(ctx, name, count, requestID)
		return nil, err
	})
	if err != nil {
		return member.Numbering{}, err
	}
	there, ok := reply.(*snowraftv1.NextResponse)
	if !ok {
		return here, nil
	}
	return numbering(there, count)
}

// numbering reads another member's answer to a request for count numbers.
func numbering(m *snowraftv1.NextResponse, count uint64) (member.Numbering, error) {
	if uint64(m.GetCount()) != count {
		return member.Numbering{}, fmt.Errorf("the leader answered with %d numbers instead of %d", m.GetCount(), count)
	}
	n := member.Numbering{Numbers: allocator.Numbers{
		First: m.GetFirst(), Count: uint64(m.GetCount()), Increment: m.GetIncrement(), Period: m.GetPeriod(),
	}}
	if m.GetFormat() == "" {
		return n, nil
	}
	location, err := sequence.LoadLocation(m.GetTimeZone())
	if err != nil {
		return n, err
	}
	n.At = time.UnixMilli(m.GetTimeMs()).In(location)
	n.Format, err = sequence.ParseFormat(m.GetFormat())
	return n, err
}

// nextResponse is the answer as it travels; with texts, unless another member asks, who writes
// them itself.
func nextResponse(name string, n member.Numbering, texts bool) *snowraftv1.NextResponse {
	m := &snowraftv1.NextResponse{
		Sequence: name, First: n.First, Count: uint32(n.Count), Increment: n.Increment, Period: n.Period, //nolint:gosec // at most limits.Count
	}
	if n.Format == nil {
		return m
	}
	m.Format, m.TimeZone, m.TimeMs = n.Format.String(), n.At.Location().String(), n.At.UnixMilli()
	if !texts || n.Count > limits.Formatted {
		return m
	}
	var text []byte
	m.Texts = make([]string, n.Count)
	for i := range m.Texts {
		text = n.Append(text[:0], uint64(i))
		m.Texts[i] = string(text)
	}
	return m
}

// last is the last number given out: of a strict sequence linearizably.
func (s *Server) last(ctx context.Context, name string) (int64, bool, error) {
	last, ok, err := s.member.Last(ctx, name)
	if err != nil && leaderless(err) {
		err = s.hold(ctx, func() (err error) {
			last, ok, err = s.member.Last(ctx, name)
			return err
		}, leaderless)
	}
	if !errors.Is(err, member.ErrStrict) {
		return last, ok, err
	}
	reply, err := s.atLeader(ctx, snowraftv1.SequenceService_GetLast_FullMethodName, &snowraftv1.GetLastRequest{Sequence: name},
		func(ctx context.Context, _ any) (any, error) {
			var err error
			last, ok, err = s.member.LastAtLeader(ctx, name)
			return nil, err
		})
	if err != nil {
		return 0, false, err
	}
	if there, isThere := reply.(*snowraftv1.GetLastResponse); isThere {
		return there.GetLast(), there.Last != nil, nil
	}
	return last, ok, nil
}
