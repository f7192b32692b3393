package member

import (
	"fmt"
	"log/slog"

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

// reportOldCluster logs once that a member of an older cluster is heard, and once that no such member is heard any
// longer. heard is the result of the previous call.
func (m *Member) reportOldCluster(heard bool) bool {
	switch old := m.OldCluster(); {
	case old != "" && !heard:
		m.logger.Error("member of the old cluster still runs; granting nothing until it stops", "peer", old)
		m.events.Note(events.Process, slog.LevelError, "a member of the old cluster still runs; granting nothing until it stops: "+old)
		return true
	case old == "" && heard:
		m.logger.Info("member of the old cluster no longer detected; granting again")
		m.events.Note(events.Process, slog.LevelInfo, "no member of the old cluster is detected; granting again")
		return false
	}
	return heard
}
