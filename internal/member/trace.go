package member

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/raft"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/tracing"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The names of spans, and the attribute for the kind of the command that was proposed or requested.
const (
	spanPropose  = "snowraft.propose"
	spanGrant    = "snowraft.grant"
	spanWait     = "snowraft.wait"
	spanVerify   = "snowraft.verify"
	spanSnapshot = "snowraft.snapshot"

	commandKey = attribute.Key("snowraft.command")
)

// work begins a span for a request, or for this member itself.
func (m *Member) work(ctx context.Context, name string) (context.Context, *tracing.Work) {
	return m.cfg.Tracer.Begin(ctx, name, trace.SpanKindInternal)
}

// proposing begins the span of a command's replication.
func (m *Member) proposing(ctx context.Context, cmd *commandv1.Command) *tracing.Work {
	if m.cfg.Tracer == nil {
		return nil
	}
	r := cmd.ProtoReflect()
	kind := ""
	if body := r.WhichOneof(r.Descriptor().Oneofs().ByName("body")); body != nil {
		kind = string(body.Name())
	}
	_, work := m.cfg.Tracer.Begin(ctx, spanPropose, trace.SpanKindInternal, commandKey.String(kind))
	return work
}

// granting begins the span of a request to the leader for a window or a block of this member.
func (m *Member) granting(ctx context.Context, command string) (context.Context, *tracing.Work) {
	if m.cfg.Tracer == nil {
		return ctx, nil
	}
	return m.cfg.Tracer.Begin(ctx, spanGrant, trace.SpanKindInternal, commandKey.String(command))
}

// waits returns the observer of calls that wait for a window or a block; nil if nothing is traced.
func (m *Member) waits() allocator.Wait {
	if m.cfg.Tracer == nil {
		return nil
	}
	return m.waiting
}

// waiting begins the span of a sampled request's wait. The span of the grant that the request starts is below it. The
// context of the grant has the span only, and nothing else of the request, because other requests wait for the grant as
// well, and the member is its actor.
func (m *Member) waiting(ctx context.Context) (context.Context, func(error)) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return nil, nil
	}
	ctx, work := m.work(ctx, spanWait)
	return trace.ContextWithSpan(context.Background(), trace.SpanFromContext(ctx)), func(err error) { work.End(failure(err)) }
}

// failure returns the class of an error for a span. It does not return the text, because the text may have names.
func failure(err error) string {
	if refused, ok := errors.AsType[*fsm.Refused](err); ok {
		return strings.TrimPrefix(refused.Reason.String(), "REFUSAL_")
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, cluster.ErrUnknownOutcome):
		return "COMMIT_UNKNOWN"
	case errors.Is(err, cluster.ErrNotLeader), errors.Is(err, ErrNoLeader):
		return "NO_LEADER"
	case isA[*allocator.WindowEndedError](err):
		return "WINDOW_ENDED"
	case isA[*allocator.WorkersExhaustedError](err):
		return "WORKERS_EXHAUSTED"
	case isA[*allocator.FencedError](err):
		return "FENCED"
	case isA[*clock.BehindError](err):
		return "CLOCK_BEHIND"
	case isA[*clock.SkewError](err):
		return "CLOCK_SKEW"
	case errors.Is(err, context.DeadlineExceeded):
		return "DEADLINE_EXCEEDED"
	case errors.Is(err, context.Canceled):
		return "CANCELED"
	default:
		return "_OTHER" // OpenTelemetry's convention for errors without a class
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// replica returns the state machine to which Raft applies the log.
func (m *Member) replica() raft.FSM {
	if m.cfg.Tracer == nil {
		return m.fsm
	}
	return &tracedReplica{m.fsm, m}
}

// tracedReplica makes spans of snapshots.
type tracedReplica struct {
	*fsm.Machine
	member *Member
}

// Snapshot implements raft.FSM.
func (r *tracedReplica) Snapshot() (raft.FSMSnapshot, error) {
	_, work := r.member.work(context.Background(), spanSnapshot)
	s, err := r.Machine.Snapshot()
	if err != nil {
		work.End(failure(err))
		return nil, err
	}
	return &tracedSnapshot{s, work}, nil
}

// tracedSnapshot is a snapshot until it is written.
type tracedSnapshot struct {
	raft.FSMSnapshot
	work *tracing.Work
}

// Persist implements raft.FSMSnapshot. Raft calls it once.
func (s *tracedSnapshot) Persist(sink raft.SnapshotSink) error {
	err := s.FSMSnapshot.Persist(sink)
	s.work.End(failure(err))
	return err
}
