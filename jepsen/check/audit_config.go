package check

import (
	"math"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// layoutModel holds the properties of a layout that the rules of windows use.
type layoutModel struct {
	epoch, unit int64 // Unix ms; ms per tick
	ticks       int64 // number of ticks
	workers     uint64
	sequences   int64
}

// The settings of a cluster without a committed configuration, in milliseconds.
const (
	defaultMaxWindow = 600_000
	defaultThreshold = 1_000
)

// tickAt returns the tick at a Unix time in milliseconds. It rounds down, and returns the nearest int64 for ticks
// beyond 64 bits.
func (l *layoutModel) tickAt(millis int64) int64 {
	since := millis - l.epoch
	if (millis >= l.epoch) != (since >= 0) { // overflow
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

// covering returns the end of a window that covers all ticks before a Unix time in milliseconds, within the layout.
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
		case commandv1.FieldKind_FIELD_KIND_SEQUENCE:
			l.sequences = 1 << f.GetBits()
		case commandv1.FieldKind_FIELD_KIND_DATACENTER, commandv1.FieldKind_FIELD_KIND_UNSPECIFIED:
		}
	}
	if had, ok := m.layouts[spec.GetName()]; ok && had != l {
		m.v.fail("index %d creates layout %q again with another specification", e.Index, spec.GetName())
	}
	m.layouts[spec.GetName()] = l
}

func (m *windowModel) setConfig(e *raftlog.Applied, c *commandv1.SetConfig) {
	if e.Result.Failure() != nil {
		return
	}
	if c.GetGeneration() != m.config.GetGeneration() {
		m.v.fail("index %d replaces the configuration of generation %d, expected generation %d",
			e.Index, c.GetGeneration(), m.config.GetGeneration())
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

// behind reports whether a proposer's clock is too far behind the observed clock for any grant.
func (m *windowModel) behind(now int64) bool {
	threshold := int64(defaultThreshold)
	if m.config != nil {
		threshold = m.config.GetWaitThresholdMs()
	}
	return m.config.GetRollback() != commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP && now < m.observed && m.observed-now > threshold
}
