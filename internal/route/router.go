// Package route brings calls to the member that leads. A call waits while no member leads, and goes to the next leader
// when the leader that it was sent to is replaced. After an unknown outcome, only a harmless call is repeated. The
// main type is [Router].
package route

import (
	"context"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/trust"
)

// Wait is the longest time that a call waits for a leader. A call with an earlier deadline waits for a shorter time,
// so that its caller gets the reason.
const Wait = 2 * time.Second

// Peers reaches other members from any goroutine. Its errors are those of the domain: [member.ErrNoLeader] if nothing
// was sent, [cluster.ErrUnknownOutcome] if the connection broke after that.
type Peers interface {
	NextAtLeader(ctx context.Context, leader cluster.Member, sequence string, count uint64, requestID string) (member.Numbering, error)
	NextOfPeriod(ctx context.Context, leader cluster.Member, sequence string, count uint64, r member.PeriodRequest) (member.Numbering, error)
	LastAtLeader(ctx context.Context, leader cluster.Member, sequence string) (last int64, ok bool, err error)
}

// Router brings the calls of one member to the leader. Its methods may be called from any goroutine.
type Router struct {
	member *member.Member
	peers  Peers
}

// New returns the router of a member.
func New(m *member.Member, peers Peers) *Router { return &Router{m, peers} }

// NextAtLeader issues the next numbers of a sequence at the leader.
func (r *Router) NextAtLeader(ctx context.Context, sequence string, count uint64, requestID string) (n member.Numbering, err error) {
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

// NextOfPeriod issues numbers of one period of a sequence at the leader.
func (r *Router) NextOfPeriod(ctx context.Context, sequence string, count uint64, of member.PeriodRequest) (n member.Numbering, err error) {
	err = r.AtLeader(ctx, true, func(ctx context.Context) (err error) { // like NextAtLeader
		n, err = r.member.NextOfPeriod(ctx, sequence, count, of)
		return err
	}, func(ctx context.Context, leader cluster.Member) (err error) {
		n, err = r.peers.NextOfPeriod(ctx, leader, sequence, count, of)
		return err
	})
	return n, err
}

// NextShared is NextAtLeader for a call that callers share.
func (r *Router) NextShared(ctx context.Context, key share.Key, count uint64) (member.Numbering, error) {
	caller, _ := key.Principal.(*trust.Principal)
	return r.NextAtLeader(trust.WithPrincipal(ctx, caller), key.Sequence, count, "")
}

// LastAtLeader returns the last number that the leader knows.
func (r *Router) LastAtLeader(ctx context.Context, sequence string) (last int64, ok bool, err error) {
	err = r.AtLeader(ctx, true, func(ctx context.Context) (err error) {
		last, ok, err = r.member.LastAtLeader(ctx, sequence)
		return err
	}, func(ctx context.Context, leader cluster.Member) (err error) {
		last, ok, err = r.peers.LastAtLeader(ctx, leader, sequence)
		return err
	})
	return last, ok, err
}

// HoldBlock is Hold for numbers of a relaxed sequence. While no leader grants a block, the error is [member.ErrNoLeader].
func (r *Router) HoldBlock(ctx context.Context, sequence string, try func() error) error {
	return ungranted(sequence, r.Hold(ctx, try))
}

// Hold repeats try until it succeeds, fails with an error that another leader would not fix, or finds no leader for
// [Wait], and returns its last error. try is work of this member that only needs a leader to grant or confirm
// something, so it is repeated after an unknown outcome too.
func (r *Router) Hold(ctx context.Context, try func() error) error {
	return r.hold(ctx, try, Leaderless)
}
