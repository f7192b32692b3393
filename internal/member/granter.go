package member

import (
	"cmp"
	"context"
	"errors"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
)

// leader returns the leader as the granter of this member's workers and blocks: the member itself while it leads.
func (m *Member) leader() (l Leader, id string, err error) {
	if m.node.IsLeader() {
		return m, m.node.ID(), nil
	}
	leader, ok := m.node.Leader()
	if !ok || leader.ID == m.node.ID() {
		return nil, "", m.NoLeader()
	}
	l, err = m.cfg.Leader(leader)
	return l, leader.ID, err
}

// askLeader calls the leader. The call ends with [ErrReplaced] when another member leads, because the host of the former leader
// may have vanished.
func (m *Member) askLeader(ctx context.Context, call func(context.Context, Leader) error) error {
	l, id, err := m.leader()
	if err != nil {
		return err
	}
	if l == Leader(m) {
		return call(ctx, l)
	}
	return AskWhileLeading(ctx, m.node, id, func(ctx context.Context) error { return call(ctx, l) })
}

// leaderGranter requests the workers and blocks of a member's own lanes and sequences from the
// leader: from the member itself while it leads.
type leaderGranter struct{ m *Member }

func (g leaderGranter) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (grant allocator.Grant, err error) {
	ctx, work := g.m.granting(ctx, "acquire_worker")
	defer func() { work.End(failure(err)) }()
	err = g.m.askLeader(ctx, func(ctx context.Context, l Leader) (err error) {
		if l == Leader(g.m) && !g.m.clock.Settled() {
			return notComparedError{} // the leader compares the two clocks for other members
		}
		grant, err = l.AcquireWorker(ctx, r)
		return err
	})
	return grant, err
}

func (g leaderGranter) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (grant allocator.Grant, err error) {
	ctx, work := g.m.granting(ctx, "extend_window")
	defer func() { work.End(failure(err)) }()
	err = g.m.askLeader(ctx, func(ctx context.Context, l Leader) (err error) {
		grant, err = l.ExtendWindow(ctx, r)
		return err
	})
	return grant, err
}

func (g leaderGranter) ReleaseWorker(ctx context.Context, r allocator.ReleaseRequest) error {
	return g.m.askLeader(ctx, func(ctx context.Context, l Leader) error { return l.ReleaseWorker(ctx, r) })
}

// ErrNoLeader reports that no member is known to lead.
var ErrNoLeader = errors.New("no leader")

// NoLeader returns an [ErrNoLeader]. Its text is the reason at the time when the text is read. A witness follows no leader, so
// its error is an [allocator.ErrContradicted].
func (m *Member) NoLeader() error {
	if err := m.witness(); err != nil {
		return err
	}
	return noLeaderError{m.node}
}

type noLeaderError struct{ node *cluster.Node }

func (e noLeaderError) Error() string {
	return cmp.Or(e.node.NoLeader(), "no leader was known; one is known now")
}

func (noLeaderError) Is(target error) bool { return target == ErrNoLeader }

func (g leaderGranter) AllocateBlock(ctx context.Context, name string, count uint64, key allocator.ReturnKey) (block allocator.Block, err error) {
	ctx, work := g.m.granting(ctx, "allocate_block")
	defer func() { work.End(failure(err)) }()
	err = g.m.askLeader(ctx, func(ctx context.Context, l Leader) (err error) {
		block, err = l.AllocateBlock(ctx, name, count, key)
		return err
	})
	return block, err
}

func (g leaderGranter) ReturnBlock(ctx context.Context, name string, token, unused uint64, key allocator.ReturnKey) error {
	return g.m.askLeader(ctx, func(ctx context.Context, l Leader) error { return l.ReturnBlock(ctx, name, token, unused, key) })
}
