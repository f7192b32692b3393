package member

import (
	"context"
	"fmt"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/snowflake"
)

const (
	// absenceWait is the time limit for the leader to answer whether something exists that this member's
	// replica does not have, and for the replica to receive it then.
	absenceWait = 500 * time.Millisecond
	// maxAsking is the greatest number of such calls to the leader at once; further calls wait. A client that can reach
	// a member can request any names, and must not keep the leader busy with them.
	maxAsking = 64
)

// Finder reports what existed at some moment after the call. A replica alone is enough if it has the sequence or layout,
// because an older moment does no harm. It is not enough if it lacks the sequence or layout, which may have been created
// long ago: this member may be new, may have just started, or may be cut off.
type Finder interface {
	// SequenceGeneration returns the generation of a sequence, which is the log index of its last change; not ok if
	// there is no such sequence.
	SequenceGeneration(ctx context.Context, name string) (generation uint64, ok bool, err error)
	// LayoutExists reports whether there is a layout of this name.
	LayoutExists(ctx context.Context, name string) (bool, error)
}

// UnsettledError reports that this member does not know a sequence or a layout and could not query the
// leader for it. It is an [ErrNoLeader].
type UnsettledError struct {
	Noun, Name string // Noun is "sequence" or "layout"
	Cause      error
}

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("this member does not know the %s %q, and could not query the leader: %v", e.Noun, e.Name, e.Cause)
}

// Is reports whether the target is ErrNoLeader. The cause is not in the chain, because nothing was done.
func (e *UnsettledError) Is(target error) bool { return target == ErrNoLeader }

// settleSequence makes sure that this member's replica is right about a sequence that it did not have:
// if it still does not, there was none at some moment after the call began. The error is an
// [UnsettledError], or that of ctx.
func (m *Member) settleSequence(ctx context.Context, name string) error {
	if never := fsm.CheckSequenceName(name); never != nil {
		return nil //nolint:nilerr // there can be none of that name
	}
	return m.settle(ctx, "sequence", name, func(ctx context.Context, l Leader) error {
		generation, ok, err := l.SequenceGeneration(ctx, name)
		if err != nil || !ok {
			return err
		}
		// If it is not there even then, it was deleted after the leader looked.
		if err := m.fsm.AwaitApplied(ctx, generation); err != nil {
			return fmt.Errorf("this member has not received it yet: %w", err)
		}
		return nil
	})
}

// settleLayout is settleSequence for a layout.
func (m *Member) settleLayout(ctx context.Context, name string) error {
	return m.settle(ctx, "layout", name, func(ctx context.Context, l Leader) error {
		exists, err := l.LayoutExists(ctx, name)
		// Every cluster has the default layout, from a moment after its first election on.
		if err != nil || !exists && name != snowflake.Default().Name() {
			return err
		}
		return m.awaitLayout(ctx, name)
	})
}

// awaitLayout waits until this member's replica has a layout; they are never deleted.
func (m *Member) awaitLayout(ctx context.Context, name string) error {
	for {
		changed := m.fsm.Changed()
		if _, ok := m.fsm.Layout(name); ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("this member has not received it yet: %w", ctx.Err())
		}
	}
}

// settle calls ask with the leader, for at most absenceWait.
func (m *Member) settle(ctx context.Context, noun, name string, ask func(context.Context, Leader) error) error {
	bounded, cancel := context.WithTimeout(ctx, absenceWait)
	defer cancel()
	err := m.inTurn(bounded, ask)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return &UnsettledError{Noun: noun, Name: name, Cause: err}
	}
}

// inTurn calls ask with the leader once fewer than maxAsking other calls do.
func (m *Member) inTurn(ctx context.Context, ask func(context.Context, Leader) error) error {
	l, err := m.awaitLeader(ctx)
	if err != nil {
		return err
	}
	select {
	case m.asking <- struct{}{}:
		defer func() { <-m.asking }()
	case <-ctx.Done():
		return fmt.Errorf("%d other calls query it: %w", maxAsking, ctx.Err())
	}
	return ask(ctx, l)
}

// awaitLeader waits until a member leads.
func (m *Member) awaitLeader(ctx context.Context) (Leader, error) {
	for {
		changed := m.node.LeaderChanged()
		l, _, err := m.leader()
		if err == nil {
			return l, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// SequenceAtLeader returns a sequence as it was at some moment after the call; only the leader can. It fails
// with an [UnknownSequenceError], which suggests no other names, or with [cluster.ErrNotLeader].
func (m *Member) SequenceAtLeader(ctx context.Context, name string) (fsm.Sequence, error) {
	s, ok, err := atLeader(ctx, m, m.fsm.Sequence, name)
	if err == nil && !ok {
		err = &UnknownSequenceError{Sequence: name}
	}
	return s, err
}

// SequenceGeneration implements Finder; only the leader can.
func (m *Member) SequenceGeneration(ctx context.Context, name string) (uint64, bool, error) {
	s, ok, err := atLeader(ctx, m, m.fsm.Sequence, name)
	return s.Generation, ok, err
}

// LayoutAtLeader returns a layout as it was at some moment after the call; only the leader can. It fails with an
// [UnknownLayoutError], or with [cluster.ErrNotLeader].
func (m *Member) LayoutAtLeader(ctx context.Context, name string) (*snowflake.Layout, error) {
	l, ok, err := atLeader(ctx, m, m.fsm.Layout, name)
	if err == nil && !ok {
		err = &UnknownLayoutError{name}
	}
	return l, err
}

// ConfigAtLeader returns the configuration of the cluster as it was at some moment after the call; only the leader
// can. It fails with [cluster.ErrNotLeader], even before the configuration of a new cluster is set.
func (m *Member) ConfigAtLeader(ctx context.Context) (*commandv1.Config, error) {
	config, ok, err := atLeader(ctx, m, func(string) (*commandv1.Config, bool) {
		c := m.fsm.ConfigValue()
		return c, c.GetGeneration() != 0
	}, "")
	if err == nil && !ok {
		err = fmt.Errorf("%w that has set up the cluster", cluster.ErrNotLeader)
	}
	return config, err
}

// ReadIndex returns a log index that this member has applied. Every command that was acknowledged before the call and changed the
// state is at that index or before it. Only the leader can; ReadIndex fails with [cluster.ErrNotLeader] on other members.
func (m *Member) ReadIndex(ctx context.Context) (uint64, error) {
	index, _, err := atLeader(ctx, m, func(string) (uint64, bool) { return m.fsm.Applied(), true }, "")
	return index, err
}

// LayoutExists implements Finder; only the leader can.
func (m *Member) LayoutExists(ctx context.Context, name string) (bool, error) {
	_, ok, err := atLeader(ctx, m, m.fsm.Layout, name)
	return ok, err
}

// atLeader returns the result of find, if this member still leads after find returned.
func atLeader[T any](ctx context.Context, m *Member, find func(name string) (T, bool), name string) (found T, ok bool, err error) {
	lt := m.leaderTerm.Load()
	if lt == nil {
		return found, false, cluster.ErrNotLeader
	}
	thing, ok := find(name)
	if err := lt.confirm(ctx); err != nil {
		return found, false, err
	}
	return thing, ok, nil
}
