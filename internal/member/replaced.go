package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/cluster"
)

// leadership is the part of a [cluster.Node] that knows the leader.
type leadership interface {
	Leader() (cluster.Member, bool)
	LeaderChanged() <-chan struct{}
}

// ErrReplaced reports that another member replaced the leader before that leader answered the call.
var ErrReplaced = fmt.Errorf("the leader was replaced before it answered: %w", cluster.ErrUnknownOutcome)

// AskWhileLeading calls a leader. It returns [ErrReplaced] if another member replaced that leader during the call, unless the call
// succeeded.
func AskWhileLeading(ctx context.Context, of leadership, leaderID string, call func(context.Context) error) error {
	ctx, cancel := whileLeading(ctx, of, leaderID)
	defer cancel()
	err := call(ctx)
	if err != nil && errors.Is(context.Cause(ctx), ErrReplaced) {
		return ErrReplaced
	}
	return err
}

// whileLeading returns a copy of ctx that is canceled, with the cause ErrReplaced, once a member other
// than leaderID is known to lead. So a call waits for a leader that hangs, or whose answers are lost,
// only until the other members have replaced that leader.
func whileLeading(ctx context.Context, of leadership, leaderID string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for ctx.Err() == nil {
			changed := of.LeaderChanged()
			if now, ok := of.Leader(); ok && now.ID != leaderID {
				cancel(ErrReplaced)
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
