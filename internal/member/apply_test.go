package member

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// templated returns a member with a template and sequences that began with it, each with a granted block.
func templated(t *testing.T, sequences int, changes ...func(*Config)) (m *Member, generation uint64) {
	t.Helper()
	m = openOne(t, changes...)
	if _, _, err := m.FinalizeUpgrade(anyone(t), nil); err != nil {
		t.Fatal(err)
	}
	template, err := m.CreateTemplate(anyone(t), &commandv1.TemplateSpec{Pattern: "carts/*", Settings: &commandv1.SequenceSpec{
		Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64, BlockDurationMs: 1000, MinBlock: 10, MaxBlock: 100,
		Mode: commandv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
	}}, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sequences {
		name := fmt.Sprint("carts/", i)
		if _, err := m.BeginSequence(anyone(t), name); err != nil {
			t.Fatal(err)
		}
		if _, err := m.NextAtLeader(anyone(t), name, 1, ""); err != nil {
			t.Fatal(err)
		}
	}
	return m, template.Template.Generation
}

// editTemplate changes the settings of the template.
func editTemplate(t *testing.T, m *Member, edit func(*commandv1.SequenceSpec)) {
	t.Helper()
	if _, err := m.UpdateTemplate(anyone(t), "carts/*", func(spec *commandv1.TemplateSpec) error {
		edit(spec.GetSettings())
		return nil
	}, nil, false); err != nil {
		t.Fatal(err)
	}
}

// Each change obeys the rules of UpdateSequence: without force, none may repeat numbers.
func TestApplyTemplateRefusals(t *testing.T) {
	t.Parallel()
	m, _ := templated(t, 2)
	editTemplate(t, m, func(s *commandv1.SequenceSpec) { s.Increment = -1 })
	for _, force := range []bool{false, true} {
		applied, err := m.ApplyTemplate(anyone(t), Application{Pattern: "carts/*", Limit: 10, Force: Force{Numbers: force}})
		if err != nil || len(applied.Outcomes) != 2 {
			t.Fatalf("applied %+v, %v", applied, err)
		}
		for _, o := range applied.Outcomes {
			refused, ok := errors.AsType[*fsm.Refused](o.Err)
			if (o.Err == nil) != force || ok && refused.Reason != commandv1.Refusal_REFUSAL_WOULD_REPEAT {
				t.Errorf("force %t: %+v", force, o)
			}
		}
		if s, _ := m.fsm.Sequence("carts/0"); (s.Spec.GetIncrement() == -1) != force {
			t.Errorf("force %t: the increment is %d", force, s.Spec.GetIncrement())
		}
	}
}

// A sequence that another caller changes during the call stays as that caller left it.
func TestApplyTemplateLeavesConcurrentChanges(t *testing.T) {
	t.Parallel()
	m, _ := templated(t, 1)
	editTemplate(t, m, func(s *commandv1.SequenceSpec) { s.Max = 5000 })
	applied, err := m.ApplyTemplate(&proposing{anyone(t), func() {
		_, err := m.UpdateSequence(anyone(t), "carts/0", Update{Edit: func(s *commandv1.SequenceSpec) error {
			s.Max = 7000
			return nil
		}})
		if err != nil {
			t.Error(err)
		}
	}}, Application{Pattern: "carts/*", Limit: 10})
	if err != nil || len(applied.Outcomes) != 1 || applied.Outcomes[0].Err == nil {
		t.Errorf("applied %+v, %v, want a refusal", applied, err)
	}
	if s, _ := m.fsm.Sequence("carts/0"); s.Spec.GetMax() != 7000 {
		t.Errorf("the maximum is %d, want that of the other caller", s.Spec.GetMax())
	}
}

// All pages apply the same settings, so a change of the template between two pages ends the application.
func TestApplyTemplateOfAnotherGeneration(t *testing.T) {
	t.Parallel()
	m, generation := templated(t, 1)
	editTemplate(t, m, func(s *commandv1.SequenceSpec) { s.Max = 5000 })
	_, err := m.ApplyTemplate(anyone(t), Application{Pattern: "carts/*", Limit: 10, Expected: &generation})
	if _, ok := errors.AsType[*GenerationError](err); !ok {
		t.Errorf("%v, want a generation mismatch", err)
	}
	if s, _ := m.fsm.Sequence("carts/0"); s.Spec.GetMax() != math.MaxInt64 {
		t.Errorf("the maximum is %d", s.Spec.GetMax())
	}
	ended, cancel := context.WithCancel(anyone(t))
	cancel()
	if _, err := m.ApplyTemplate(ended, Application{Pattern: "carts/*", Limit: 10}); err == nil {
		t.Error("applied after the end of the context")
	}
}

// slow returns the clock of a slow machine: it advances with each reading.
func slow() clock.Source {
	var readings atomic.Int64
	system := clock.System()
	return func() clock.Reading {
		at, passed := system(), 20*readings.Add(1)
		return clock.Reading{Wall: at.Wall + passed, Mono: at.Mono + passed}
	}
}

// On a busy cluster, pages end early. Together they have each sequence once.
func TestApplyTemplatePagesEndEarly(t *testing.T) {
	t.Parallel()
	const sequences = 2*appliedAtOnce + 2
	m, _ := templated(t, sequences, func(c *Config) { c.Clock = slow() })
	editTemplate(t, m, func(s *commandv1.SequenceSpec) { s.Max = 5000 })
	if _, err := m.UpdateSequence(anyone(t), "carts/7", Update{Edit: func(s *commandv1.SequenceSpec) error {
		s.Max = 5000
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	pages, unchanged, after := 0, 0, ""
	names := map[string]bool{}
	for {
		applied, err := m.ApplyTemplate(anyone(t), Application{Pattern: "carts/*", After: after, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		pages, unchanged = pages+1, unchanged+applied.Unchanged
		for _, o := range applied.Outcomes {
			if o.Err != nil || names[o.Name] {
				t.Errorf("%+v", o)
			}
			names[o.Name] = true
		}
		if after = applied.Next; after == "" {
			break
		}
	}
	if len(names) != sequences-1 || unchanged != 1 || pages < 3 {
		t.Errorf("%d sequences changed and %d not, in %d pages", len(names), unchanged, pages)
	}
}
