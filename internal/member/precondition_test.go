package member

import (
	"context"
	"errors"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// generationOf returns the GenerationError in err, or a zero one.
func generationOf(err error) GenerationError {
	if e, ok := errors.AsType[*GenerationError](err); ok {
		return *e
	}
	return GenerationError{}
}

func TestChangeOfAnotherGenerationIsRefused(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	ctx := t.Context()
	sequence := func() uint64 {
		s, err := m.Sequence(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		return s.Generation
	}
	config := func() uint64 { return m.fsm.ConfigValue().GetGeneration() }
	widen := func(ctx context.Context, expected *uint64, meanwhile func()) error {
		_, err := m.UpdateConfig(ctx, expected, func(c *commandv1.Config) {
			meanwhile()
			c.MaxWindowMs++
		})
		return err
	}
	describe := func(ctx context.Context, expected *uint64, meanwhile func()) error {
		_, err := m.UpdateSequence(ctx, "s", Update{Expected: expected, Edit: func(s *commandv1.SequenceSpec) error {
			meanwhile()
			s.Description += "."
			return nil
		}})
		return err
	}
	if err := widen(ctx, nil, func() {}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		present func() uint64
		change  func(ctx context.Context, expected *uint64, meanwhile func()) error
	}{
		{"configuration", config, widen},
		{`sequence "s"`, sequence, describe},
	} {
		for _, expected := range []uint64{0, c.present() - 1, c.present() + 1, 1 << 60} {
			before := c.present()
			err := c.change(ctx, &expected, func() {})
			if got, want := generationOf(err), (GenerationError{c.what, expected, before}); got != want || c.present() != before {
				t.Errorf("%s of generation %d changed for %d: %v, now %d", c.what, before, expected, err, c.present())
			}
		}
		once := true
		meanwhile := func() {
			if once {
				once = false
				if err := c.change(ctx, nil, func() {}); err != nil {
					t.Error(err)
				}
			}
		}
		before := c.present()
		if got, want := generationOf(c.change(ctx, &before, meanwhile)), (GenerationError{c.what, before, c.present()}); got != want || c.present() == before {
			t.Errorf("%s changed by another caller meanwhile: %+v, want %+v", c.what, got, want)
		}
		if once = true; c.change(ctx, nil, meanwhile) != nil {
			t.Errorf("%s changed by another caller meanwhile, and no generation was expected: refused", c.what)
		}
		before = c.present()
		if err := c.change(ctx, &before, func() {}); err != nil || c.present() <= before {
			t.Errorf("%s changed as expected: %v, generation %d after %d", c.what, err, c.present(), before)
		}
	}
	expected := sequence()
	if err := describe(ctx, nil, func() {}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.DeleteSequence(ctx, "s", &expected); generationOf(err).Present != sequence() {
		t.Errorf("deleted after a change: %v", err)
	}
	expected = sequence()
	if _, err := m.DeleteSequence(ctx, "s", &expected); err != nil {
		t.Error(err)
	}
	if _, err := m.DeleteSequence(ctx, "s", &expected); !errors.As(err, new(*UnknownSequenceError)) {
		t.Errorf("deleted twice: %v", err)
	}
}
