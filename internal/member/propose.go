package member

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// VersionError reports that a command must wait until the upgrade that introduced it is finalized. Need is the
// fsm_version that the command needs, and Have the one in use. Nothing was done.
type VersionError struct{ Need, Have uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the command needs fsm_version %d, and the cluster uses %d; finalize the upgrade, see \"snowraft upgrade\"", e.Need, e.Have)
}

// propose replicates a command of ctx's actor, stamped with now, in Unix milliseconds. A command that uses a newer
// field than its kind has that field's fsm_version already. Refusals by the state machine come back
// as [*fsm.Refused]; other errors are those of cluster.Propose.
func (m *Member) propose(ctx context.Context, now int64, cmd *commandv1.Command) (fsm.Result, error) {
	if err := m.ahead(m.clock.Now()); err != nil {
		return fsm.Result{}, err // any command of this leader could poison the state
	}
	actor, err := actorOf(ctx, cmd)
	if err != nil {
		return fsm.Result{}, err
	}
	cmd.ClockAtMs, cmd.Actor = now, actor
	cmd.Version = max(cmd.GetVersion(), fsm.MinVersion(cmd))
	if need, have := cmd.GetVersion(), m.fsmVersion(); need > have {
		return fsm.Result{}, &VersionError{Need: need, Have: have}
	}
	if err := m.checkOldCluster(cmd); err != nil {
		return fsm.Result{}, err
	}
	if refused := m.refutation(cmd); refused != nil {
		return fsm.Result{}, refused
	}
	data, err := fsm.Encode(cmd)
	if err != nil {
		return fsm.Result{}, err
	}
	work := m.proposing(ctx, cmd)
	result, err := m.replicate(ctx, data)
	work.End(failure(err))
	return result, err
}

// replicate proposes an encoded command and returns its result.
func (m *Member) replicate(ctx context.Context, data []byte) (fsm.Result, error) {
	answer, err := m.node.Propose(ctx, data)
	if err != nil {
		return fsm.Result{}, err
	}
	result, ok := answer.(fsm.Result)
	if !ok {
		return fsm.Result{}, fmt.Errorf("the state machine answered with %T", answer)
	}
	trust.NoteIndex(ctx, result.Index)
	return result, result.Failure()
}

func (m *Member) refutation(cmd *commandv1.Command) (refused *fsm.Refused) {
	m.fsm.View(func(s *fsm.State) { refused = s.Refutation(cmd) })
	return refused
}

func (m *Member) fsmVersion() (version uint32) {
	m.fsm.View(func(s *fsm.State) { version = s.FSMVersion() })
	return version
}

// hashOf returns the form in which the log holds a secret of a holder. A reader of the log learns nothing that could
// be used for a claim.
func hashOf(secret [16]byte) []byte {
	hash := sha256.Sum256(secret[:])
	return hash[:]
}

// AcquireWorker grants a worker with a window; only the leader can. The errors are those of [allocator.Granter].
func (m *Member) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (allocator.Grant, error) {
	if err := m.plausible(r.NowMillis); err != nil {
		return allocator.Grant{}, err
	}
	c := &commandv1.AcquireWorker{
		Layout: r.Layout, Holder: r.Holder, NonceHash: hashOf(r.Nonce), WindowMs: r.Window.Milliseconds(), Below: r.Below,
	}
	if p := r.Process; p != (allocator.Process{}) && m.fsmVersion() >= fsm.LeaseVersion {
		c.Process = &commandv1.HolderProcess{Host: p.Host, ProcessId: p.ID, Kind: p.Kind, Version: p.Version}
	}
	result, err := m.propose(ctx, r.NowMillis, &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: c}})
	return m.grant(result, r.Layout, err)
}

// ExtendWindow moves the end of a held window; only the leader can. The errors are those of [allocator.Granter].
func (m *Member) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (allocator.Grant, error) {
	if err := m.plausible(r.NowMillis); err != nil {
		return allocator.Grant{}, err
	}
	result, err := m.propose(ctx, r.NowMillis, &commandv1.Command{Body: &commandv1.Command_ExtendWindow{ExtendWindow: &commandv1.ExtendWindow{
		Layout: r.Layout, Worker: r.Worker, Token: r.Token, NonceHash: hashOf(r.Nonce), UntilTick: r.Until, WindowMs: r.Window.Milliseconds(),
		ExtensionId: r.ID,
	}}})
	return m.grant(result, r.Layout, err)
}

// ReleaseWorker releases a worker, from the request's next tick on; only the leader can. The errors are those of
// [allocator.Granter].
func (m *Member) ReleaseWorker(ctx context.Context, r allocator.ReleaseRequest) error {
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: &commandv1.ReleaseWorker{
		Layout: r.Layout, Worker: r.Worker, Token: r.Token, NonceHash: hashOf(r.Nonce), UntilTick: r.Until, NextTick: r.Next,
	}}})
	_, err = m.grant(result, r.Layout, err)
	return err
}

// grant turns the state machine's result into the allocator's grant or error.
func (m *Member) grant(result fsm.Result, layout string, err error) (allocator.Grant, error) {
	if err != nil {
		return allocator.Grant{}, m.domain(layout, err)
	}
	return allocator.Grant{
		Worker: result.Grant.Worker, Token: result.Grant.Token, From: result.Grant.From, Until: result.Grant.Until,
		ObservedMillis: result.Observed,
		MaxWindow:      time.Duration(m.fsm.ConfigValue().GetMaxWindowMs()) * time.Millisecond,
	}, nil
}

// domain turns refusals that lanes know into errors of allocator and clock.
func (m *Member) domain(layout string, err error) error {
	refused, ok := errors.AsType[*fsm.Refused](err)
	if !ok {
		return err
	}
	switch refused.Reason {
	case commandv1.Refusal_REFUSAL_WINDOW_MISMATCH:
		return fmt.Errorf("%w: %s", allocator.ErrWindowMismatch, refused.Detail)
	case commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED:
		return &allocator.WorkersExhaustedError{Layout: layout, RetryAt: time.UnixMilli(refused.RetryAtMillis)}
	case commandv1.Refusal_REFUSAL_FENCED:
		return &allocator.FencedError{Layout: layout, RetryAt: time.UnixMilli(refused.RetryAtMillis)}
	case commandv1.Refusal_REFUSAL_SET_BACK:
		return m.setBack()
	case commandv1.Refusal_REFUSAL_TIME_EXHAUSTED:
		return fmt.Errorf("%w: %s", allocator.ErrTimeExhausted, refused.Detail)
	case commandv1.Refusal_REFUSAL_CLOCK_BEHIND:
		return &clock.BehindError{Behind: time.Duration(refused.BehindMillis) * time.Millisecond, Limit: m.clock.Limits().WaitThreshold}
	default:
		return err
	}
}

// CreateLayout adds a layout; only the leader can.
func (m *Member) CreateLayout(ctx context.Context, spec snowflake.Spec) (*snowflake.Layout, error) {
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_CreateLayout{
		CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(spec)},
	}})
	return result.Layout, err
}

// ObserveClock raises the observed clock to this leader's, or sets it if force is true, also backwards. It returns
// the observed clock after that, in Unix milliseconds; only the leader can.
func (m *Member) ObserveClock(ctx context.Context, force bool) (int64, error) {
	now, err := m.comparedNow()
	if err != nil {
		return 0, err
	}
	result, err := m.propose(ctx, now, &commandv1.Command{Body: &commandv1.Command_ObserveClock{
		ObserveClock: &commandv1.ObserveClock{Force: force},
	}})
	return result.Observed, err
}

// IsRemoved reports whether a member's ID was removed from the cluster.
func (m *Member) IsRemoved(id string) (removed bool) {
	m.fsm.View(func(s *fsm.State) { removed = s.Removed(id) })
	return removed
}

// removedMembers is the replicated list of removed members.
type removedMembers struct{ *Member }

func (r removedMembers) Remove(ctx context.Context, id string) error {
	_, err := r.propose(ctx, r.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_RemoveMember{
		RemoveMember: &commandv1.RemoveMember{Id: id},
	}})
	return err
}
