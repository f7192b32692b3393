package api

import (
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The defaults of omitted fields depend on the given fields, whatever the order of the mask.
func TestDefaultsOfSequences(t *testing.T) {
	t.Parallel()
	check := func(what string, spec *commandv1.SequenceSpec, err error) {
		if err != nil || spec.GetStart() != -1 || spec.GetMin() != math.MinInt64 || spec.GetMax() != -1 ||
			spec.GetMinBlock() != 20_000_000 || spec.GetMaxBlock() != 20_000_000 {
			t.Errorf("%s: %v, %v", what, spec, err)
		}
	}
	m := &snowraftv1.Sequence{Name: "s", Increment: proto.Int64(-1), MinBlock: 20_000_000}
	created, err := newSequenceSpec(m)
	check("created", created, err)

	updated, err := newSequenceSpec(&snowraftv1.Sequence{Name: "s", Start: proto.Int64(5), Min: proto.Int64(2), Max: proto.Int64(9)})
	if err != nil {
		t.Fatal(err)
	}
	fields, err := updateFields(&snowraftv1.UpdateSequenceRequest{Sequence: m, UpdateMask: &fieldmaskpb.FieldMask{
		Paths: []string{"max_block", "max", "min", "start", "increment", "min_block"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	check("updated", updated, updateSpec(updated, m, fields))
}

// A setting that has no effect in a mode is refused there, and accepted in each other mode. Each field is in the table.
func TestSettingsWithoutEffectAreRefused(t *testing.T) {
	t.Parallel()
	const relaxed, strict, gapless = snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS
	daily := func(s *snowraftv1.Sequence) { s.Reset_ = snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY }
	tested := map[string]bool{}
	for field, c := range map[string]struct {
		set     func(*snowraftv1.Sequence)
		without []snowraftv1.SequenceMode // the field has no effect in these modes
	}{
		"start":             {func(s *snowraftv1.Sequence) { s.Start = new(int64(5)) }, nil},
		"increment":         {func(s *snowraftv1.Sequence) { s.Increment = new(int64(2)) }, []snowraftv1.SequenceMode{gapless}},
		"min":               {func(s *snowraftv1.Sequence) { s.Min = new(int64(-5)) }, nil},
		"max":               {func(s *snowraftv1.Sequence) { s.Max = new(int64(500)) }, nil},
		"mode":              {func(*snowraftv1.Sequence) {}, nil},
		"block_duration_ms": {func(s *snowraftv1.Sequence) { s.BlockDurationMs = 5000 }, []snowraftv1.SequenceMode{gapless}},
		"min_block":         {func(s *snowraftv1.Sequence) { s.MinBlock = 7 }, []snowraftv1.SequenceMode{gapless}},
		"max_block":         {func(s *snowraftv1.Sequence) { s.MaxBlock = 700 }, []snowraftv1.SequenceMode{gapless}},
		"reset":             {daily, nil},
		"year_starts":       {func(s *snowraftv1.Sequence) { s.YearStarts, s.Format = "04-01", "{fy}-{seq}" }, nil},
		"late_ms":           {func(s *snowraftv1.Sequence) { daily(s); s.LateMs = 86_400_000 }, nil},
		"time_zone":         {func(s *snowraftv1.Sequence) { daily(s); s.TimeZone = "Asia/Tokyo" }, nil},
		"format":            {func(s *snowraftv1.Sequence) { s.Format = "A{seq}" }, nil},
		"reuse":             {func(s *snowraftv1.Sequence) { s.Reuse = true }, []snowraftv1.SequenceMode{relaxed, strict}},
		"description":       {func(s *snowraftv1.Sequence) { s.Description = "bills" }, nil},
	} {
		for _, mode := range []snowraftv1.SequenceMode{relaxed, strict, gapless} {
			m := &snowraftv1.Sequence{Name: "s", Mode: mode}
			c.set(m)
			spec, err := newSequenceSpec(m)
			if err == nil {
				err = fsm.CheckSequence(spec)
			}
			if refused := slices.Contains(c.without, mode); refused != (err != nil) {
				t.Errorf("%s of a sequence in %s: %v, want a refusal: %v", field, mode, err, refused)
			}
		}
		tested[field] = true
	}
	for _, f := range sequenceFields {
		if !tested[string(f.name)] {
			t.Errorf("%s is not in the table", f.name)
		}
	}
	without := &snowraftv1.Sequence{Name: "s", LateMs: 86_400_000}
	if spec, err := newSequenceSpec(without); err != nil || fsm.CheckSequence(spec) == nil {
		t.Errorf("late numbers without a reset: %v", err)
	}
}

// A gapless sequence that was relaxed keeps the settings of its blocks, and a caller that sends back what it read changes nothing.
func TestBlocksOfAGaplessSequenceStay(t *testing.T) {
	t.Parallel()
	spec, err := newSequenceSpec(&snowraftv1.Sequence{Name: "s", MinBlock: 7})
	if err != nil {
		t.Fatal(err)
	}
	m := settingsMessage(spec)
	m.Mode = snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS
	if err := updateSpec(spec, m, sequenceFields); err != nil || spec.GetMinBlock() != 7 {
		t.Errorf("%v, %v", spec, err)
	}
	m.MinBlock = 8
	if err := updateSpec(spec, m, sequenceFields); err == nil {
		t.Error("a change of the blocks of a gapless sequence")
	}
}

// A body of {} is a mask with one empty path.
func TestUpdateWithoutFieldsIsRefused(t *testing.T) {
	t.Parallel()
	none := &fieldmaskpb.FieldMask{Paths: []string{""}}
	_, sequence := updateFields(&snowraftv1.UpdateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "s"}, UpdateMask: none})
	_, config := configFields(&snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{}, UpdateMask: none})
	for _, err := range []error{sequence, config} {
		if err == nil || !strings.HasPrefix(err.Error(), "no field to change; set at least one of ") {
			t.Errorf("error = %v", err)
		}
	}
}
