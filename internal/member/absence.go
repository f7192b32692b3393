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
	// absenceWait is the time that the leader may take to say whether there is something that this
	// member's replica does not have, and the replica to get it then.
	absenceWait = 500 * time.Millisecond
	// maxAsking is the greatest number of such calls to the leader at once, the others follow them: whoever can
	// reach a member can ask it for any names, and must not keep the leader busy with them.
	maxAsking = 64
)

// Finder says what there is for sure: as it was at some moment after the call. A replica alone can
// say that of what it has, because a moment does not matter, and not of what it does not have: it may have been
// created long ago, and this member be new, or have just started, or be cut off.
type Finder interface {
	// SequenceGeneration is the generation of a sequence, which is its place in the log; not ok if
	// there is none.
	SequenceGeneration(ctx context.Context, name string) (generation uint64, ok bool, err error)
	// LayoutExists reports whether there is a layout of this name.
	LayoutExists(ctx context.Context, name string) (bool, error)
}

// UnsettledError says that this member does not know something and could not ask the leader whether it
// exists. It is an [ErrNoLeader].
type UnsettledError struct {
	Noun, Name string
	Cause      error
}

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("this member does not know the %s %q, and could not query the leader: %v", e.Noun, e.Name, e.Cause)
}

// Is makes it an ErrNoLeader. Its cause is not in its chain, because nothing was done.
func (e *UnsettledError) Is(target error) bool { return target == ErrNoLeader }

// settleSequence makes sure that this member's replica is right about a sequence which it did not have:
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
			return fmt.Errorf("it exists, and has not arrived here yet: %w", err)
		}
		return nil
	})
}

// settleLayout is settleSequence of a layout.
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
			return fmt.Errorf("it exists, and has not arrived here yet: %w", ctx.Err())
		}
	}
}

// settle queries the leader about a name.
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

// inTurn queries the leader when fewer than maxAsking do.
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
		l, err := m.leader()
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

// SequenceAtLeader is a sequence as it is at some moment after the call; only the leader knows. It fails
// with an [UnknownSequenceError], which names no others, or with [cluster.ErrNotLeader].
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

// LayoutAtLeader is a layout as of some moment after the call; only the leader knows. It fails with an
// [UnknownLayoutError], or with [cluster.ErrNotLeader].
func (m *Member) LayoutAtLeader(ctx context.Context, name string) (*snowflake.Layout, error) {
	l, ok, err := atLeader(ctx, m, m.fsm.Layout, name)
	if err == nil && !ok {
		err = &UnknownLayoutError{name}
	}
	return l, err
}

// ConfigAtLeader is the configuration of the cluster as it is at some moment after the call; only the leader
// can tell. It fails with [cluster.ErrNotLeader], also before a new cluster has been given one.
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

// ReadIndex returns an index of the log that this member has applied, and that every command that was acknowledged before
// the call lies at or before; only the leader knows. It fails with [cluster.ErrNotLeader].
func (m *Member) ReadIndex(ctx context.Context) (uint64, error) {
	index, _, err := atLeader(ctx, m, func(string) (uint64, bool) { return m.fsm.Applied(), true }, "")
	return index, err
}

// LayoutExists implements Finder; only the leader can.
func (m *Member) LayoutExists(ctx context.Context, name string) (bool, error) {
	_, ok, err := atLeader(ctx, m, m.fsm.Layout, name)
	return ok, err
}

// atLeader returns what find found, if this member still leads after that.
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
