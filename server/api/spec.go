package api

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/server/wire"
)

// sequenceField is a field that an operator sets. apply copies the field from a message to a specification, or sets its
// default. Enums have the same numbers in both protos.
type sequenceField struct {
	name  protoreflect.Name
	apply func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence)
}

// sequenceFields lists the fields in the order in which they are applied: a default may depend on earlier fields.
var sequenceFields = []sequenceField{
	{"increment", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) { spec.Increment = orElse(m.Increment, 1) }},
	{"start", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		spec.Start = orElse(m.Start, upward(spec, 1, -1))
	}},
	{"format", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) { spec.Format = m.GetFormat() }},
	{"min", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		spec.Min = orElse(m.Min, upward(spec, spec.GetStart(), leastOf(spec.GetFormat())))
	}},
	{"max", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		spec.Max = orElse(m.Max, upward(spec, greatestOf(spec.GetFormat()), spec.GetStart()))
	}},
	{"mode", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		spec.Mode = commandv1.SequenceMode(cmp.Or(m.GetMode(), snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT))
	}},
	{"block_duration_ms", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		spec.BlockDurationMs = cmp.Or(m.GetBlockDurationMs(), limits.DefaultBlockDuration.Milliseconds())
	}},
	{"min_block", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		spec.MinBlock = cmp.Or(m.GetMinBlock(), limits.DefaultMinBlock)
	}},
	{"max_block", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		spec.MaxBlock = cmp.Or(m.GetMaxBlock(), max(limits.DefaultMaxBlock, spec.GetMinBlock()))
	}},
	{"reset", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		spec.Reset_ = commandv1.SequenceReset(cmp.Or(m.GetReset_(), snowraftv1.SequenceReset_SEQUENCE_RESET_NONE))
	}},
	{"year_starts", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) {
		starts, _ := sequence.ParseYearStart(m.GetYearStarts()) // updateSpec refuses others
		spec.YearStarts = uint32(starts)
	}},
	{"late_ms", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) { spec.LateMs = m.GetLateMs() }},
	{"time_zone", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) { spec.TimeZone = m.GetTimeZone() }},
	{"reuse", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) { spec.Reuse = m.GetReuse() }},
	{"description", func(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence) { spec.Description = m.GetDescription() }},
}

// leastOf and greatestOf return the last numbers in both directions that a format can write: those that have a code, or all.
func leastOf(format string) int64 {
	if _, coded := codeOf(format); coded {
		return 0
	}
	return math.MinInt64
}

func greatestOf(format string) int64 {
	if c, coded := codeOf(format); coded {
		return c.Max()
	}
	return math.MaxInt64
}

// codeOf returns the codes of a format; ok is false if the format has none, or is refused later.
func codeOf(format string) (c sequence.Code, ok bool) {
	f, err := sequence.ParseFormat(format)
	if err != nil {
		return c, false
	}
	return f.Code()
}

func orElse(set *int64, otherwise int64) int64 {
	if set != nil {
		return *set
	}
	return otherwise
}

// upward returns up if the numbers increase, and down if they decrease.
func upward(spec *commandv1.SequenceSpec, up, down int64) int64 {
	if spec.GetIncrement() < 0 {
		return down
	}
	return up
}

// newSequenceSpec returns the specification of a new sequence.
func newSequenceSpec(m *snowraftv1.Sequence) (*commandv1.SequenceSpec, error) {
	spec := &commandv1.SequenceSpec{Name: m.GetName()}
	return spec, updateSpec(spec, m, sequenceFields)
}

// updateFields returns the fields that an update changes.
func updateFields(req *snowraftv1.UpdateSequenceRequest) ([]sequenceField, error) {
	m := req.GetSequence()
	if m == nil {
		return nil, wire.Invalid("sequence: missing")
	}
	known := []string{"name"}
	for _, f := range sequenceFields {
		known = append(known, string(f.name))
	}
	paths := req.GetUpdateMask().GetPaths()
	if err := checkPaths(paths, known); err != nil {
		return nil, err
	}
	var fields []sequenceField
	all := m.ProtoReflect().Descriptor().Fields()
	for _, f := range sequenceFields {
		if req.UpdateMask == nil && m.ProtoReflect().Has(all.ByName(f.name)) || slices.Contains(paths, string(f.name)) {
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// checkPaths returns an error if a mask names an unknown field.
func checkPaths(paths, known []string) error {
	for _, path := range paths {
		if path == "" { // grpc-gateway makes this mask for the body {}
			return wire.Invalid("no field to change; set at least one of " + strings.Join(known, ", "))
		}
		if !slices.Contains(known, path) {
			return wire.Invalid(fmt.Sprintf("update_mask %q: expected fields among %s", path, strings.Join(known, ", ")))
		}
	}
	return nil
}

// updateSpec copies fields from a message to spec.
func updateSpec(spec *commandv1.SequenceSpec, m *snowraftv1.Sequence, fields []sequenceField) error {
	if m == nil {
		return wire.Invalid("sequence: missing")
	}
	if _, err := sequence.ParseYearStart(m.GetYearStarts()); err != nil {
		return err
	}
	before := blocksOf(spec)
	for _, f := range fields {
		f.apply(spec, m)
	}
	if err := checkBlocks(spec, before); err != nil {
		return err
	}
	if _, ok := snowraftv1.SequenceMode_name[int32(spec.GetMode())]; !ok {
		return wire.Invalid(fmt.Sprintf("mode %d: expected relaxed, strict or gapless", spec.GetMode()))
	}
	if _, ok := snowraftv1.SequenceReset_name[int32(spec.GetReset_())]; !ok {
		return wire.Invalid(fmt.Sprintf("reset %d: expected none, daily, weekly, monthly, quarterly or yearly", spec.GetReset_()))
	}
	return nil
}

// blocksOf returns the fields of a specification about blocks.
func blocksOf(spec *commandv1.SequenceSpec) map[string]uint64 {
	return map[string]uint64{
		"block_duration_ms": uint64(spec.GetBlockDurationMs()), "min_block": spec.GetMinBlock(), "max_block": spec.GetMaxBlock(), //nolint:gosec // compared only
	}
}

// checkBlocks refuses settings of blocks for a gapless sequence, which has none, unless they are the default or stay as they were before.
func checkBlocks(spec *commandv1.SequenceSpec, before map[string]uint64) error {
	if spec.GetMode() != commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS {
		return nil
	}
	usual := map[string]uint64{
		"block_duration_ms": uint64(limits.DefaultBlockDuration / time.Millisecond), "min_block": limits.DefaultMinBlock, "max_block": limits.DefaultMaxBlock,
	}
	now := blocksOf(spec)
	for _, field := range slices.Sorted(maps.Keys(now)) {
		if is := now[field]; is != before[field] && is != usual[field] {
			return wire.Invalid(field + ": a gapless sequence has no blocks, so this setting has no effect; omit it")
		}
	}
	return nil
}

// settingsMessage returns the specification of a sequence as a message.
func settingsMessage(spec *commandv1.SequenceSpec) *snowraftv1.Sequence {
	return &snowraftv1.Sequence{
		Name:  spec.GetName(),
		Start: new(spec.GetStart()), Increment: new(spec.GetIncrement()),
		Min: new(spec.GetMin()), Max: new(spec.GetMax()),
		Mode: snowraftv1.SequenceMode(spec.GetMode()), BlockDurationMs: spec.GetBlockDurationMs(),
		MinBlock: spec.GetMinBlock(), MaxBlock: spec.GetMaxBlock(),
		Reset_: snowraftv1.SequenceReset(spec.GetReset_()), TimeZone: spec.GetTimeZone(),
		Format: spec.GetFormat(), Description: spec.GetDescription(), Template: spec.GetTemplate(),
		Reuse: spec.GetReuse(), YearStarts: sequence.YearStart(spec.GetYearStarts()).String(), LateMs: spec.GetLateMs(), //nolint:gosec // the state machine has checked it
	}
}

func sequenceMessage(s member.Standing) *snowraftv1.Sequence {
	m := settingsMessage(s.Spec)
	m.CreatedAtMs, m.Generation, m.Period = s.CreatedMillis, s.Generation, sequence.Period(s.Period).String()
	m.Remaining, m.Frozen, m.Moved, m.Deleted, m.FormatsUnknown = s.Left, s.Frozen, s.Moved, s.Deleted, s.FormatsUnknown
	m.OpenReservations, m.UnknownNumbers, m.OldestOpenAtMs = s.Open, s.Unknown, s.OldestOpenMillis
	for _, e := range s.Ended() {
		ended := &snowraftv1.EndedPeriod{Period: sequence.Period(e.Period).String(), Remaining: e.Remaining, Frozen: e.Frozen}
		if e.Remaining > 0 {
			ended.Next = new(e.Next)
		}
		m.EndedPeriods = append(m.EndedPeriods, ended)
	}
	if s.Left > 0 {
		m.Next = new(s.Following)
	}
	switch {
	case !s.HasIssued:
	case s.Exact:
		m.Last = new(s.Issued)
	default:
		m.LastAtMost = new(s.Issued)
	}
	return m
}

// CompleteSequence returns the settings that CreateSequence gives a sequence: those that are set in m, and defaults.
func CompleteSequence(m *snowraftv1.Sequence) (*snowraftv1.Sequence, error) {
	spec, err := newSequenceSpec(m)
	if err != nil {
		return nil, err
	}
	return settingsMessage(spec), nil
}

// CheckSequence returns the error with which CreateSequence refuses settings in every cluster; nil if it depends on the cluster.
func CheckSequence(m *snowraftv1.Sequence) error {
	spec, err := newSequenceSpec(m)
	if err != nil {
		return err
	}
	return member.CheckSequenceSpec(spec)
}

// CheckTemplate does the same for CreateTemplate.
func CheckTemplate(m *snowraftv1.Template) error {
	settings := &commandv1.SequenceSpec{}
	if err := updateSpec(settings, m.GetSettings(), sequenceFields); err != nil {
		return err
	}
	return member.CheckTemplateSpec(&commandv1.TemplateSpec{Pattern: m.GetPattern(), Settings: settings, Quota: m.GetQuota()})
}
