package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/events"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// lives returns what the state knows about other lives of the cluster.
func (m *Member) lives() lives.Lives {
	r := m.fsm.Restored()
	known := lives.Lives{Ancestors: r.GetAncestors(), Superseded: r.GetSuperseded(), FencedMs: r.GetFloorAtMs()}
	for _, o := range r.GetOldMembers() {
		known.OldMembers = append(known.OldMembers, lives.OldMember{ID: o.GetId(), Name: o.GetName(), RaftAddress: o.GetRaftAddress()})
	}
	return known
}

// checkOldCluster refuses grants while a member of an older cluster is heard, because that cluster may grant the same.
func (m *Member) checkOldCluster(cmd *commandv1.Command) error {
	if cmd.GetAcquireWorker() == nil && cmd.GetExtendWindow() == nil && cmd.GetAllocateBlock() == nil {
		return nil
	}
	if old := m.OldLife().Member; old != "" {
		return fmt.Errorf("%w: %s", allocator.ErrOldClusterAlive, old)
	}
	return nil
}

// OldLife returns the older cluster, from whose backup this cluster was restored, or the sibling that was heard recently.
func (m *Member) OldLife() lives.Life { return m.node.OldLife() }

// Supersede ends an older cluster, or a sibling, by the operator's word. It returns the log index of the record; only the leader
// can.
func (m *Member) Supersede(ctx context.Context, id string) (uint64, error) {
	switch {
	case uuid.Validate(id) != nil:
		return 0, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, Detail: fmt.Sprintf("cluster %q: expected a cluster ID", id)}
	case id == m.node.ClusterID():
		return 0, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, Detail: "this is the ID of the cluster that answers; name the other cluster"}
	case id == m.node.YoungerLife().Cluster:
		return 0, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, Detail: fmt.Sprintf("cluster %q was restored from this one, and only it can end this one; stop its members instead", id)}
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_Supersede{Supersede: &commandv1.Supersede{Cluster: id}}})
	return result.Index, err
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
		if m.fsm.Restored() != nil {
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
	case reason != nil && (was == nil || !errors.Is(reason, errors.Unwrap(was))):
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
	if old := m.OldLife().Member; old != "" {
		return fmt.Errorf("%w: %s", allocator.ErrOldClusterAlive, old)
	}
	return nil
}
