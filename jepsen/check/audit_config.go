package check

import (
	"math"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// layoutModel is what the rules need of a layout.
type layoutModel struct {
	epoch, unit int64
	ticks       int64
	workers     uint64
}

// The configuration until one is set, in milliseconds.
const (
	defaultMaxWindow = 600_000
	defaultThreshold = 1_000
)

// tickAt rounds down, and saturates.
func (l *layoutModel) tickAt(millis int64) int64 {
	since := millis - l.epoch
	if (millis >= l.epoch) != (since >= 0) { // beyond an int64
		if millis >= l.epoch {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	tick := since / l.unit
	if since%l.unit < 0 {
		tick--
	}
	return tick
}

// covering is the end of a window that reaches up to a millisecond, in whole ticks.
func (l *layoutModel) covering(millis int64) int64 { return min(l.tickAt(millis-1), l.ticks-1) + 1 }

func (m *windowModel) maxWindow() int64 {
	if m.config == nil {
		return defaultMaxWindow
	}
	return m.config.GetMaxWindowMs()
}

func (m *windowModel) createLayout(e *raftlog.Applied, spec *commandv1.LayoutSpec) {
	if e.Result.Failure() != nil {
		return
	}
	l := layoutModel{epoch: spec.GetEpochAtMs(), unit: spec.GetUnitMs()}
	for _, f := range spec.GetFields() {
		switch f.GetKind() {
		case commandv1.FieldKind_FIELD_KIND_TIME:
			l.ticks = 1 << f.GetBits()
		case commandv1.FieldKind_FIELD_KIND_WORKER:
			l.workers = 1 << f.GetBits()
		case commandv1.FieldKind_FIELD_KIND_SEQUENCE, commandv1.FieldKind_FIELD_KIND_DATACENTER, commandv1.FieldKind_FIELD_KIND_UNSPECIFIED:
		}
	}
	if had, ok := m.layouts[spec.GetName()]; ok && had != l {
		m.v.fail("layout %q is created at index %d with another specification", spec.GetName(), e.Index)
	}
	m.layouts[spec.GetName()] = l
}

func (m *windowModel) setConfig(e *raftlog.Applied, c *commandv1.SetConfig) {
	if e.Result.Failure() != nil {
		return
	}
	if c.GetGeneration() != m.config.GetGeneration() {
		m.v.fail("index %d replaced the configuration of generation %d, expected %d", e.Index, c.GetGeneration(), m.config.GetGeneration())
	}
	next := proto.CloneOf(c.GetConfig())
	next.Generation = m.config.GetGeneration()
	if m.config == nil || !proto.Equal(m.config, next) {
		next.Generation = e.Index
	}
	if m.config = next; !proto.Equal(m.config, e.Result.Config) {
		m.v.fail("after index %d the configuration is %v, expected %v", e.Index, e.Result.Config, m.config)
	}
}

func (m *windowModel) observe(e *raftlog.Applied, c *commandv1.ObserveClock) {
	now := e.Command.GetClockAtMs()
	if e.Result.Failure() == nil && (now > m.observed || c.GetForce()) {
		m.observed = now
	}
}

// behind reports whether a proposer's clock is too far behind to be granted anything.
func (m *windowModel) behind(now int64) bool {
	threshold := int64(defaultThreshold)
	if m.config != nil {
		threshold = m.config.GetWaitThresholdMs()
	}
	return m.config.GetRollback() != commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP && now < m.observed && m.observed-now > threshold
}
