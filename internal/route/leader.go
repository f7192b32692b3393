package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowraft/snowraft/cluster"
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
	if harmless {
		var cancel context.CancelFunc
		ctx, cancel = whileLeading(ctx, node, leader.ID)
		defer cancel()
	}
	err := there(ctx, leader)
	if err != nil && errors.Is(context.Cause(ctx), errReplaced) {
		return errReplaced
	}
	return err
}

// hold repeats try, for as long as calls wait for a leader, until try succeeds or fails with an error
// that another leader would not fix.
func (r *Router) hold(ctx context.Context, try func() error, fixes func(error) bool) error {
	until, pause := endOfWait(ctx), firstPause
	for {
		changed := r.member.Node().LeaderChanged()
		err := try()
		if errors.Is(err, errReplaced) {
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

// leadership is the part of a [cluster.Node] that knows the leader.
type leadership interface {
	Leader() (cluster.Member, bool)
	LeaderChanged() <-chan struct{}
}

// errReplaced reports that another member replaced the leader before that leader answered the call.
var errReplaced = fmt.Errorf("the leader was replaced before it answered: %w", cluster.ErrUnknownOutcome)

// whileLeading returns a copy of ctx that is canceled, with the cause errReplaced, once a member other
// than leaderID is known to lead. So a call waits for a leader that hangs, or whose answers are lost,
// only until the other members have replaced that leader.
func whileLeading(ctx context.Context, of leadership, leaderID string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for ctx.Err() == nil {
			changed := of.LeaderChanged()
			if now, ok := of.Leader(); ok && now.ID != leaderID {
				cancel(errReplaced)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
