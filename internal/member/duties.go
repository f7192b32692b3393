package member

import (
	"context"
	"log/slog"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/snowflake"
)

const (
	// observeInterval is the interval at which the leader commits its clock.
	observeInterval = time.Second
	// reportInterval is the interval at which the leader of a new cluster looks for reports of members.
	reportInterval = 20 * time.Millisecond
	// checkpointInterval is the interval at which the replicas' states are compared, and firstCheckpoint
	// the time from an election to the first comparison. The comparison is soon, because the state of the
	// new leader may differ from the old leader's. It is not at once, because a new leader is busy.
	checkpointInterval = 10 * time.Minute
	firstCheckpoint    = 5 * time.Second
	// dutyTimeout bounds one proposal of a duty.
	dutyTimeout = 5 * time.Second
)

// lead runs the duties of the leader until ctx is canceled, when leadership ends.
func (m *Member) lead(ctx context.Context) {
	select {
	case <-m.opened:
	case <-ctx.Done():
		return
	}
	lt := newLeaderTerm(m)
	m.leaderTerm.Store(lt)
	defer m.leaderTerm.CompareAndSwap(lt, nil)
	observe := time.NewTicker(observeInterval)
	defer observe.Stop()
	checkpoint := time.NewTicker(firstCheckpoint)
	defer checkpoint.Stop()
	recorded := m.fsmVersion() >= fsm.LineageVersion // then the node did, see first
	compared := false                                // since the cluster was sealed
	for established := false; ; {
		m.duty(ctx, "finalize the upgrade", lt.finalizeIfDue)
		if !recorded && m.fsmVersion() >= fsm.LineageVersion {
			recorded = m.duty(ctx, "record the leadership", m.recordLeadership)
		}
		var report <-chan time.Time
		if !established && lt.upgrade.pauses(m.monotonic(), m.fsmVersion()) {
			report = time.After(reportInterval)
		} else {
			// A new layout has a past only after an observation, so this comes before the members are ready.
			m.duty(ctx, "observe the clock", m.observe)
			established = established || m.duty(ctx, "set up the cluster", m.establish)
		}
		select {
		case <-ctx.Done():
			return
		case <-checkpoint.C:
			checkpoint.Reset(checkpointInterval)
			m.duty(ctx, "compare the replicas", m.checkpoint)
		case <-observe.C:
		case <-report:
		}
		if !compared && m.fsm.Sealed() != nil {
			compared = m.duty(ctx, "compare the replicas", m.compareBranches)
		}
	}
}

// duty calls do and reports whether it succeeded. The caller retries a failed duty at the next tick.
func (m *Member) duty(ctx context.Context, what string, do func(context.Context) error) bool {
	bounded, cancel := context.WithTimeout(ctx, dutyTimeout)
	defer cancel()
	err := do(bounded)
	if err != nil && ctx.Err() == nil {
		m.logger.Warn("leader duty failed; retrying", "duty", what, "error", err)
		m.events.Note(events.Process, slog.LevelWarn, "leader could not "+what+"; retrying")
	}
	return err == nil
}

// establish sets the configuration of a new cluster and creates its default layout.
func (m *Member) establish(ctx context.Context) error {
	if m.cfg.Initial != nil && m.fsm.ConfigValue().GetGeneration() == 0 {
		c, err := m.setConfig(ctx, m.cfg.Initial, 0)
		if err != nil {
			return err
		}
		m.logger.Info("configuration initialized", "generation", c.GetGeneration(), "actor", "leader")
	}
	if _, ok := m.fsm.Layout(snowflake.Default().Name()); ok {
		return nil
	}
	spec := snowflake.Default().Spec()
	if m.cfg.Default != nil {
		spec = *m.cfg.Default
	}
	_, err := m.CreateLayout(ctx, spec)
	return err
}

// observe commits this leader's clock, unless others contradict it: a wrong
// clock must not become the observed one.
func (m *Member) observe(ctx context.Context) error {
	if !m.clock.Trusted() {
		return nil
	}
	_, err := m.ObserveClock(ctx, false)
	return err
}

// compareBranches makes every replica compare its present state with this leader's. A member that was set back, or the only one
// that was not, may have appended the entries of this branch to those of another one. Its replica then rejects the evidence of the
// seal, and it would continue to issue.
func (m *Member) compareBranches(ctx context.Context) error {
	if err := m.checkpoint(ctx); err != nil { // takes the digest of the present state
		return err
	}
	return m.checkpoint(ctx)
}

// checkpoint makes every replica compare the digest of its last checkpoint with
// this leader's, and take a new digest.
func (m *Member) checkpoint(ctx context.Context) error {
	var index uint64
	var digest [32]byte
	m.fsm.View(func(s *fsm.State) { index, digest = s.LastCheckpoint() })
	checkpoint := &commandv1.Checkpoint{}
	if index != 0 { // not the first
		checkpoint.Index, checkpoint.Digest = index, digest[:]
	}
	_, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_Checkpoint{Checkpoint: checkpoint}})
	return err
}
