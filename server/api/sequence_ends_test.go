package api

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestSequencesNearestTheirEnd(t *testing.T) {
	t.Parallel()
	const nearest = 20
	m, index := fsm.New(fsm.Options{}), uint64(0)
	day := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	apply := func(cmd *commandv1.Command) {
		t.Helper()
		index++
		cmd.ClockAtMs = day.UnixMilli()
		cmd.Version = max(1, fsm.MinVersion(cmd))
		data, err := fsm.Encode(cmd)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := m.Apply(&raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: data}).(fsm.Result); !ok || r.Failure() != nil || r.Halted != nil {
			t.Fatalf("%v: %v", cmd, r.Failure())
		}
	}
	create := func(spec *commandv1.SequenceSpec, granted uint64) {
		spec.Mode, spec.BlockDurationMs, spec.MinBlock, spec.MaxBlock = commandv1.SequenceMode_SEQUENCE_MODE_STRICT, 1000, 1, 1000
		spec.Reset_ = max(spec.GetReset_(), commandv1.SequenceReset_SEQUENCE_RESET_NONE)
		period := int32(0)
		if spec.GetReset_() == commandv1.SequenceReset_SEQUENCE_RESET_DAILY {
			period = 20261123
		}
		apply(&commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: spec, Period: period}}})
		apply(&commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{Name: spec.GetName(), Count: granted, Period: period, Generation: index}}})
	}
	for i := range 25 {
		create(&commandv1.SequenceSpec{Name: fmt.Sprintf("n%02d", i), Start: 1, Increment: 1, Min: 1, Max: 100}, uint64(i)+1)
	}
	create(&commandv1.SequenceSpec{Name: "endless", Start: 1, Increment: 1, Min: 1, Max: 1<<63 - 1}, 1)
	create(&commandv1.SequenceSpec{Name: "down", Start: 10, Increment: -1, Min: 1, Max: 10}, 9)
	create(&commandv1.SequenceSpec{Name: "daily", Start: 1, Increment: 1, Min: 1, Max: 100, TimeZone: "UTC", Reset_: commandv1.SequenceReset_SEQUENCE_RESET_DAILY}, 99)

	today := EndsOf(m.Listing(), day.UnixMilli(), nearest).Near
	if len(today) != nearest || today[0] != (End{"daily", 0.01}) || today[1] != (End{"down", 0.1}) || today[2] != (End{"n24", 0.75}) || today[19].Name != "n07" {
		t.Errorf("today: %v", today)
	}
	tomorrow := EndsOf(m.Listing(), day.Add(24*time.Hour).UnixMilli(), nearest).Near
	if len(tomorrow) != nearest || tomorrow[0].Name != "down" || tomorrow[19].Name != "n06" {
		t.Errorf("tomorrow, when the daily one begins again: %v", tomorrow)
	}

	// Exhausted sequences do not hide those whose end can still be moved.
	if least := (Ends{}).Least(); !math.IsNaN(least) {
		t.Errorf("without sequences, the least part is %v, want NaN", least)
	}
	for i := range nearest + 5 {
		create(&commandv1.SequenceSpec{Name: fmt.Sprintf("a-sold-out-%02d", i), Start: 1, Increment: 1, Min: 1, Max: 5}, 5)
	}
	create(&commandv1.SequenceSpec{Name: "a-sold-out-today", Start: 1, Increment: 1, Min: 1, Max: 5, TimeZone: "UTC", Reset_: commandv1.SequenceReset_SEQUENCE_RESET_DAILY}, 5)
	for at, want := range map[time.Time]Ends{day: {Near: today, Exhausted: nearest + 6}, day.Add(24 * time.Hour): {Near: tomorrow, Exhausted: nearest + 5}} {
		got := EndsOf(m.Listing(), at.UnixMilli(), nearest)
		if !slices.Equal(got.Near, want.Near) || got.Exhausted != want.Exhausted || got.Least() != want.Near[0].Left {
			t.Errorf("with exhausted sequences at %v: %v, the least part is %v, want %v", at, got, got.Least(), want)
		}
	}
	few := Ends{Near: []End{{"a-sold-out-00", 0}}, Exhausted: 1}
	if least := few.Least(); !math.IsNaN(least) {
		t.Errorf("with exhausted sequences only, the least part is %v, want NaN", least)
	}
}
