package member

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/snowflake"
)

// Issuer returns the lanes of a layout, which it opens at their first use; an empty
// name is the default layout. It fails as [Member.Layout] does.
func (m *Member) Issuer(ctx context.Context, layout string) (*allocator.Issuer, error) {
	if i := m.OpenIssuer(layout); i != nil {
		return i, nil
	}
	l, err := m.Layout(ctx, layout)
	if err != nil {
		return nil, err
	}
	return m.openIssuer(l)
}

// OpenIssuer returns the lanes of a layout that was used before; nil if there are none. An empty name is the default layout.
func (m *Member) OpenIssuer(layout string) *allocator.Issuer {
	return (*m.byName.Load())[cmp.Or(layout, snowflake.Default().Name())]
}

// Layout returns a layout of this member's replica; an empty name is the default layout. It fails with an
// [UnknownLayoutError] or, while this member cannot decide whether the layout exists, with [ErrNoLeader].
func (m *Member) Layout(ctx context.Context, name string) (*snowflake.Layout, error) {
	if name == "" {
		name = snowflake.Default().Name()
	}
	if l, ok := m.fsm.Layout(name); ok {
		return l, nil
	}
	switch err := m.settleLayout(ctx, name); {
	case errors.Is(err, ErrNoLeader) && name == snowflake.Default().Name():
		return nil, m.NoLeader() // every cluster has the default layout
	case err != nil:
		return nil, err
	}
	if l, ok := m.fsm.Layout(name); ok {
		return l, nil
	}
	return nil, &UnknownLayoutError{name}
}

// idleAfter returns the time for which lanes of a layout stay open without a caller; 0 if they are never closed. Lanes of
// the default layout stay open, because a member must be able to issue from it at any moment, even without quorum. For
// other layouts the time is the default maximum window, so a layout that is used more often is as available as its
// windows.
func idleAfter(l *snowflake.Layout) time.Duration {
	if l.Name() == snowflake.Default().Name() {
		return 0
	}
	return limits.DefaultWindow
}

func (m *Member) openIssuer(l *snowflake.Layout) (*allocator.Issuer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, allocator.ErrClosed
	}
	byName := *m.byName.Load()
	if i := byName[l.Name()]; i != nil {
		return i, nil
	}
	i, err := allocator.Open(allocator.Config{
		Layout: l, Holder: m.cfg.Cluster.Name, Nonce: m.nonce, Lanes: m.cfg.Lanes,
		Granter: leaderGranter{m}, Watch: m.clock, Logger: m.logger, Events: m.events, Idle: idleAfter(l), Wait: m.waits(),
	})
	if err != nil {
		return nil, err
	}
	byName = maps.Clone(byName)
	byName[l.Name()] = i
	m.byName.Store(&byName)
	return i, nil
}

// LayoutLanes holds the lanes of one layout.
type LayoutLanes struct {
	Layout string
	Lanes  []allocator.LaneStatus
}

// Lanes returns this member's lanes in ascending order of their layouts' names.
func (m *Member) Lanes() []LayoutLanes {
	byName := *m.byName.Load()
	var all []LayoutLanes
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, LayoutLanes{name, byName[name].Lanes()})
	}
	return all
}
