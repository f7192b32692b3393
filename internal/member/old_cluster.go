package member

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/events"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// ancestors returns the IDs of the earlier clusters that this cluster was restored from.
func (m *Member) ancestors() []string { return m.fsm.Restored().GetAncestors() }

// checkOldCluster refuses grants while a member of an older cluster is heard, because that cluster may grant the same.
func (m *Member) checkOldCluster(cmd *commandv1.Command) error {
	if cmd.GetAcquireWorker() == nil && cmd.GetExtendWindow() == nil && cmd.GetAllocateBlock() == nil {
		return nil
	}
	if old := m.OldCluster(); old != "" {
		return fmt.Errorf("%w: %s", allocator.ErrOldClusterAlive, old)
	}
	return nil
}

// OldCluster describes a member of an older cluster, from whose backup this cluster was restored, that was heard
// recently; empty if there is none.
func (m *Member) OldCluster() string {
	if len(m.ancestors()) == 0 {
		return ""
	}
	return m.node.AncestorHeard()
}

// oldClusterEvery is the interval at which a member of a restored cluster checks whether an older cluster is heard.
const oldClusterEvery = 200 * time.Millisecond

// heedOldCluster stops this member while a member of an older cluster is heard: it then issues nothing, not even from windows
// and blocks that it holds, because the older cluster may issue the same.
func (m *Member) heedOldCluster(ctx context.Context) {
	for {
		changed := m.fsm.Changed() // a cluster that was not restored has nothing to hear
		var again <-chan time.Time
		if len(m.ancestors()) > 0 {
			again = time.After(oldClusterEvery)
		}
		old, stopped := m.OldCluster(), m.clock.Stopped() != nil
		switch {
		case old != "" && !stopped:
			m.clock.Stop(fmt.Errorf("%w: %s", allocator.ErrOldClusterAlive, old))
			m.logger.Error("member of the old cluster still runs; issuing nothing until it stops", "peer", old)
			m.events.Note(events.Process, slog.LevelError, "a member of the old cluster still runs; issuing nothing until it stops: "+old)
		case old == "" && stopped:
			m.clock.Resume()
			m.logger.Info("member of the old cluster no longer detected; issuing again")
			m.events.Note(events.Process, slog.LevelInfo, "no member of the old cluster is detected; issuing again")
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}
