// Package route brings calls to the member that leads. A call waits while no member leads, and goes to the next leader
// when the leader that it was sent to is replaced. After an unknown outcome, only a harmless call is repeated. The
// main type is [Router].
package route

import (
	"context"
	"errors"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/internal/tracing"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/trust"
)

// Wait is the longest time that a call waits for a leader. A call with an earlier deadline waits for a shorter time,
// so that its caller gets the reason.
const Wait = 2 * time.Second

// Peers reaches other members from any goroutine. Its errors are those of the domain: [member.ErrNoLeader] if nothing
// was sent, [cluster.ErrUnknownOutcome] if the connection broke after that.
type Peers interface {
	NextAtLeader(ctx context.Context, leader cluster.Member, sequence string, count uint64, requestID string) (member.Numbering, error)
	LastAtLeader(ctx context.Context, leader cluster.Member, sequence string) (last int64, ok bool, err error)
}

// Router brings the calls of one member to the leader. Its methods may be called from any goroutine.
type Router struct {
	member *member.Member
	peers  Peers
	strict *share.Calls[member.Numbering]
}

// New returns the router of a member.
func New(m *member.Member, peers Peers) *Router {
	r := &Router{member: m, peers: peers}
	exhausted := func(err error) bool {
		return errors.Is(err, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED})
	}
	r.strict = share.New(limits.Count, limits.CallTimeout, exhausted,
		func(ctx context.Context, key share.Key, count uint64) (member.Numbering, error) {
			if p, ok := key.Principal.(*trust.Principal); ok {
				ctx = trust.WithPrincipal(ctx, p)
			}
			return r.nextAtLeader(ctx, key.Sequence, count, "")
		})
	return r
}

// Next issues the next numbers of a sequence. Numbers of a relaxed sequence come from this member's
// memory. Numbers of a strict sequence, and those of requests with an ID, come from the leader.
// Callers of a strict sequence on behalf of the same principal share calls to the leader.
func (r *Router) Next(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error) {
	if requestID != "" {
		// A name that is not UTF-8 would end the stream to the leader, which callers share.
		if err := member.CheckSequence(sequence); err != nil {
			return member.Numbering{}, err
		}
		return r.nextAtLeader(ctx, sequence, count, requestID)
	}
	n, strict, err := r.relaxed(ctx, sequence, count)
	if err != nil && leaderless(err) {
		n, strict, err = r.held(ctx, sequence, count)
	}
	switch {
	case err != nil || !strict:
		return n, err
	case r.member.Node().IsLeader():
		return r.nextAtLeader(ctx, sequence, count, "")
	case tracing.Sampled(ctx): // a shared call would be in the trace of one caller only
		return r.nextAtLeader(ctx, sequence, count, "")
	default:
		return r.strict.Do(ctx, share.Key{Sequence: sequence, Principal: trust.PrincipalOf(ctx)}, count)
	}
}

// relaxed issues numbers from memory unless the sequence is strict. At first, only the leader may know that a sequence
// has become strict.
func (r *Router) relaxed(ctx context.Context, sequence string, count uint64) (n member.Numbering, strict bool, err error) {
	c, err := r.member.Counter(ctx, sequence)
	if err != nil || c.Strict() {
		return n, err == nil, err
	}
	if n, err = c.Next(ctx, count); errors.Is(err, member.ErrStrict) {
		return n, true, nil
	}
	return n, false, err
}

// held repeats relaxed for as long as calls wait for a leader that grants a block.
func (r *Router) held(ctx context.Context, sequence string, count uint64) (n member.Numbering, strict bool, err error) {
	err = r.Hold(ctx, func() (err error) {
		n, strict, err = r.relaxed(ctx, sequence, count)
		return err
	})
	return n, strict, ungranted(sequence, err)
}

func (r *Router) nextAtLeader(ctx context.Context, sequence string, count uint64, requestID string) (n member.Numbering, err error) {
	// The numbers of a try whose outcome is unknown are lost or, with a request ID, found again.
	err = r.AtLeader(ctx, true, func(ctx context.Context) (err error) {
		n, err = r.member.NextAtLeader(ctx, sequence, count, requestID)
		return err
	}, func(ctx context.Context, leader cluster.Member) (err error) {
		n, err = r.peers.NextAtLeader(ctx, leader, sequence, count, requestID)
		return err
	})
	return n, err
}

// Last returns the last number that was issued; for a strict sequence, the read is linearizable.
func (r *Router) Last(ctx context.Context, sequence string) (last int64, ok bool, err error) {
	var strict bool
	look := func() error {
		c, err := r.member.Counter(ctx, sequence)
		if err != nil || c.Strict() {
			strict = err == nil
			return err
		}
		last, ok, err = c.Last(ctx)
		return err
	}
	if err = look(); err != nil && leaderless(err) {
		err = r.Hold(ctx, look)
	}
	if err != nil || !strict {
		return last, ok, err
	}
	err = r.AtLeader(ctx, true, func(ctx context.Context) (err error) {
		last, ok, err = r.member.LastAtLeader(ctx, sequence)
		return err
	}, func(ctx context.Context, leader cluster.Member) (err error) {
		last, ok, err = r.peers.LastAtLeader(ctx, leader, sequence)
		return err
	})
	return last, ok, err
}

// Hold repeats try until it succeeds, fails with an error that another leader would not fix, or finds no leader for
// [Wait], and returns its last error. try is work of this member that only needs a leader to grant or confirm
// something, so it is repeated after an unknown outcome too.
func (r *Router) Hold(ctx context.Context, try func() error) error {
	return r.hold(ctx, try, leaderless)
}
