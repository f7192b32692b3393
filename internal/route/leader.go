package route

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
)

// A leader that was just elected refuses calls for some milliseconds, until it is ready. So the first pauses after a change of
// leader are short.
const (
	firstPause = 4 * time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// AtLeader calls here while this member leads, and there while another member leads, until a member answers as the leader or
// none was found for [Wait]. Only a harmless call is tried again after an unknown outcome. If a try may have had an effect and
// later tries were turned away, the error is [cluster.ErrUnknownOutcome].
func (r *Router) AtLeader(ctx context.Context, harmless bool, here func(context.Context) error,
	there func(context.Context, cluster.Member) error) error {
	var o outcome
	err := r.hold(ctx, func() error {
		err := r.try(ctx, harmless, here, there)
		o.see(err)
		return err
	}, func(err error) bool { return retryable(err, harmless) })
	return o.of(err)
}

func (r *Router) try(ctx context.Context, harmless bool, here func(context.Context) error, there func(context.Context, cluster.Member) error) error {
	node := r.member.Node()
	if node.IsLeader() {
		return here(ctx)
	}
	leader, ok := node.Leader()
	if !ok || leader.ID == node.ID() {
		return r.member.NoLeader()
	}
	if !harmless {
		return there(ctx, leader)
	}
	return member.AskWhileLeading(ctx, node, leader.ID, func(ctx context.Context) error { return there(ctx, leader) })
}

// hold repeats try, for as long as calls wait for a leader, until try succeeds or fails with an error
// that another leader would not fix.
func (r *Router) hold(ctx context.Context, try func() error, fixes func(error) bool) error {
	until, pause := endOfWait(ctx), firstPause
	for {
		changed := r.member.Node().LeaderChanged()
		err := try()
		if errors.Is(err, member.ErrReplaced) {
			until = endOfWait(ctx) // the time up to now was not spent without a leader
		}
		if err == nil || !fixes(err) || time.Now().After(until) {
			return err
		}
		// Jitter, so that held calls do not all arrive at the new leader at once.
		next := time.NewTimer(pause + rand.N(pause))
		select {
		case <-changed:
			pause = firstPause
		case <-next.C:
			pause = min(2*pause, lastPause)
		case <-ctx.Done():
		}
		next.Stop()
		if ctx.Err() != nil {
			return err
		}
	}
}

// endOfWait returns the time until which a call waits for a leader: the end of Wait, or earlier so that the caller gets
// the reason before the deadline.
func endOfWait(ctx context.Context) time.Time {
	now := time.Now()
	wait := Wait
	if deadline, ok := ctx.Deadline(); ok {
		left := deadline.Sub(now)
		wait = min(wait, left-min(left/4, 250*time.Millisecond))
	}
	return now.Add(wait)
}
