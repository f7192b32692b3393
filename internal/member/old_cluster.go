package member

import (
	"context"
	"errors"
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

// heed stops this member while the cluster is sealed or a member of an older cluster is heard, and when this member is a
// witness. It then issues nothing, not even from windows and blocks that it holds, because another cluster, or an earlier state
// of this one, may have issued the same.
func (m *Member) heed(ctx context.Context) {
	for {
		changed := m.fsm.Changed() // a cluster that was not restored has nothing to hear
		var again <-chan time.Time
		if len(m.ancestors()) > 0 {
			again = time.After(oldClusterEvery)
		}
		m.stopOrResume()
		select {
		case <-m.node.SetBack():
			m.stopOrResume() // nothing lets a witness issue again
			return
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// stopOrResume makes the clock's reason to issue nothing the present one.
func (m *Member) stopOrResume() {
	was, reason := m.clock.Stopped(), m.mustStop()
	switch {
	case reason != nil && (was == nil || errors.Unwrap(was) != errors.Unwrap(reason)):
		m.clock.Stop(reason)
		m.logger.Error("issuing nothing from now on", "reason", reason)
		m.events.Note(events.Process, slog.LevelError, "issuing nothing from now on: "+reason.Error())
	case reason == nil && was != nil:
		m.clock.Resume()
		m.logger.Info("issuing again; the reason has ended", "reason", was)
		m.events.Note(events.Process, slog.LevelInfo, "issuing again; this has ended: "+was.Error())
	}
}

// mustStop returns the reason for which this member must issue nothing; nil if there is none.
func (m *Member) mustStop() error {
	if m.fsm.Sealed() != nil {
		return m.setBack()
	}
	if err := m.witness(); err != nil {
		return err
	}
	if old := m.OldCluster(); old != "" {
		return fmt.Errorf("%w: %s", allocator.ErrOldClusterAlive, old)
	}
	return nil
}
