package kernel

import (
	"context"
	"errors"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/route"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// memberSource issues from a member's lanes and blocks. The leader issues the numbers of strict sequences.
type memberSource struct {
	member *member.Member
	router *route.Router
	strict *share.Calls[member.Numbering]
	begin  Begin
}

// Begin creates a sequence by its first use, on behalf of the caller of ctx. It returns false if the sequence does not begin so.
type Begin func(ctx context.Context, sequence string) (begun bool, err error)

// FromMember returns the source of a member.
func FromMember(m *member.Member, r *route.Router, begin Begin) Source {
	exhausted := func(err error) bool {
		return err != nil && rpc.FromError(wire.Status(err)).Reason == rpc.SequenceExhausted
	}
	return memberSource{m, r, share.New(limits.Texts, limits.CallTimeout, exhausted, r.NextShared), begin}
}

func (s memberSource) Coded(sequence string) bool { return s.member.Coded(sequence) }

func (s memberSource) TryTake(ids []allocator.Range, layout string, count uint32, after uint64) ([]allocator.Range, uint32) {
	issuer := s.member.OpenIssuer(layout)
	if issuer == nil {
		return ids, count
	}
	return issuer.TryTake(ids, count, after)
}

func (s memberSource) Take(ctx context.Context, ids []allocator.Range, layout string, count uint32, after uint64) ([]allocator.Range, error) {
	issuer, err := s.member.Issuer(ctx, layout)
	if err != nil {
		return ids, err
	}
	return issuer.Take(ctx, ids, count, after)
}

func (s memberSource) UUIDs(ctx context.Context, layout string, count uint32) ([]string, error) {
	l, err := s.member.Layout(ctx, layout)
	if err != nil {
		return nil, err
	}
	cluster := s.member.Node().ClusterID()
	if cluster == "" { // the cluster ID distinguishes this cluster's UUIDs
		return nil, s.member.NoLeader()
	}
	t := takings.Get().(*Taking)
	defer t.Free()
	if t.IDs, err = s.Take(ctx, t.IDs, l.Name(), count, 0); err != nil {
		return nil, err
	}
	return writeUUIDs(t.IDs, count, l, snowflake.NewUUIDTag(cluster, l.Name()))
}

// Next issues numbers of a relaxed sequence from the blocks of this member. Numbers of a strict sequence, and those of requests with
// an ID, which are proposals of their callers, come from the leader. Callers of a strict sequence on behalf of the same principal
// share calls to the leader.
func (s memberSource) Next(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error) {
	return s.begun(ctx, sequence, func() (member.Numbering, error) { return s.next(ctx, sequence, count, requestID) })
}

// begun calls issue, after the first use of a sequence once more: one that does not exist begins if a template matches its name.
// The member that forwards a request does that.
func (s memberSource) begun(ctx context.Context, sequence string, issue func() (member.Numbering, error)) (member.Numbering, error) {
	n, err := issue()
	if _, unknown := errors.AsType[*member.UnknownSequenceError](err); !unknown || trust.RelayOf(ctx) != "" {
		return n, err
	}
	begun, failed := s.begin(ctx, sequence)
	switch {
	case failed != nil:
		return n, failed
	case !begun:
		return n, err
	}
	return issue()
}

func (s memberSource) next(ctx context.Context, sequence string, count uint64, requestID string) (n member.Numbering, err error) {
	relayed := trust.RelayOf(ctx) != ""
	if requestID != "" {
		// A name that is not UTF-8 would end the stream to the leader, which callers share.
		if err := member.CheckSequence(sequence); err != nil {
			return n, err
		}
		if ctx, err = s.member.Acting(ctx, trust.RightNextNumbers); err != nil {
			return n, err
		}
		if !relayed {
			return s.router.NextAtLeader(ctx, sequence, count, requestID)
		}
	}
	if relayed {
		return s.member.NextAtLeader(ctx, sequence, count, requestID)
	}
	n, strict, err := s.relaxed(ctx, sequence, count)
	if err != nil && route.Leaderless(err) {
		err = s.router.HoldBlock(ctx, sequence, func() (err error) {
			n, strict, err = s.relaxed(ctx, sequence, count)
			return err
		})
	}
	switch {
	case err != nil || !strict:
		return n, err
	case s.member.Node().IsLeader(), tracing.Sampled(ctx): // a shared call would be in the trace of one caller only
		return s.router.NextAtLeader(ctx, sequence, count, "")
	default:
		return s.strict.Do(ctx, share.Key{Sequence: sequence, Principal: trust.PrincipalOf(ctx)}, count)
	}
}

// NextOfPeriod issues numbers of one period at the leader, as proposals of the caller.
func (s memberSource) NextOfPeriod(ctx context.Context, sequence string, count uint64, r member.PeriodRequest) (n member.Numbering, err error) {
	if err := member.CheckSequence(sequence); err != nil {
		return n, err
	}
	if err := s.member.CheckPeriods(ctx, sequence); err != nil {
		return n, err
	}
	if ctx, err = s.member.Acting(ctx, trust.RightNextNumbers); err != nil {
		return n, err
	}
	if trust.RelayOf(ctx) != "" {
		return s.member.NextOfPeriod(ctx, sequence, count, r)
	}
	return s.begun(ctx, sequence, func() (member.Numbering, error) { return s.router.NextOfPeriod(ctx, sequence, count, r) })
}

// relaxed issues numbers from memory unless the sequence is strict. At first, only the leader may know that a sequence
// has become strict.
func (s memberSource) relaxed(ctx context.Context, sequence string, count uint64) (n member.Numbering, strict bool, err error) {
	c, err := s.member.Counter(ctx, sequence)
	if err != nil || c.Strict() {
		return n, err == nil, err
	}
	if n, err = c.Next(ctx, count); errors.Is(err, member.ErrStrict) {
		return n, true, nil
	}
	return n, false, err
}

func (s memberSource) TryNext(sequence string, count uint64) (member.Numbering, bool) {
	return s.member.TryNext(sequence, count)
}

// Begin shares a call to the leader for a strict sequence.
func (s memberSource) Begin(ctx context.Context, sequence string, count uint64, done func(member.Numbering, error)) bool {
	if s.member.Node().IsLeader() || tracing.Sampled(ctx) || !s.member.KnownStrict(sequence) {
		return false
	}
	s.strict.Begin(ctx, share.Key{Sequence: sequence, Principal: trust.PrincipalOf(ctx)}, count, done)
	return true
}

func (s memberSource) Last(ctx context.Context, sequence string) (last int64, ok bool, err error) {
	if trust.RelayOf(ctx) != "" {
		return s.member.LastAtLeader(ctx, sequence)
	}
	var strict bool
	look := func() error {
		c, err := s.member.Counter(ctx, sequence)
		if err != nil || c.Strict() {
			strict = err == nil
			return err
		}
		last, ok, err = c.Last(ctx)
		return err
	}
	if err = look(); err != nil && route.Leaderless(err) {
		err = s.router.Hold(ctx, look)
	}
	if err != nil || !strict {
		return last, ok, err
	}
	return s.router.LastAtLeader(ctx, sequence)
}
