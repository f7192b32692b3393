package client_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/sequence"
)

// defaults returns the specification of a sequence for which only the name was given.
func defaults(name string) client.SequenceSpec {
	return client.SequenceSpec{
		Name: name, Mode: client.ModeStrict, Start: new(int64(1)), Increment: new(int64(1)), Min: new(int64(1)), Max: new(int64(math.MaxInt64)),
		BlockDuration: 10 * time.Second, MinBlock: 100, MaxBlock: 10_000_000,
	}
}

func TestSequencesAreManaged(t *testing.T) {
	t.Parallel()
	c := startNumberCluster(t, 1)
	cl := c.client()
	create := func(t *testing.T, spec client.SequenceSpec, opts ...client.SequenceOption) client.SequenceInfo {
		t.Helper()
		info, err := cl.CreateSequence(t.Context(), spec, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}

	t.Run("create and get", func(t *testing.T) {
		began := time.Now().Truncate(time.Millisecond)
		info := create(t, client.SequenceSpec{Name: "plain"})
		if !reflect.DeepEqual(info.SequenceSpec, defaults("plain")) {
			t.Errorf("created %+v, want the defaults", info.SequenceSpec)
		}
		if info.Next == nil || *info.Next != 1 || info.Remaining != math.MaxInt64 || info.Generation == 0 || info.Period != 0 || len(info.UnreachedMembers) != 0 || info.CreatedAt.Before(began) || info.CreatedAt.After(time.Now()) {
			t.Errorf("created %+v", info)
		}
		if again := create(t, client.SequenceSpec{Name: "plain"}); !reflect.DeepEqual(again, info) {
			t.Errorf("created again as %+v, want %+v", again, info)
		}
		if _, err := cl.CreateSequence(t.Context(), client.SequenceSpec{Name: "plain", Mode: client.ModeRelaxed}); !errors.Is(err, client.ErrSequenceExists) {
			t.Errorf("another sequence of that name: %v", err)
		}
		full := client.SequenceSpec{
			Name: "full", Mode: client.ModeRelaxed, Start: new(int64(90)), Increment: new(int64(-2)), Min: new(int64(-7)), Max: new(int64(99)),
			Reset: sequence.ResetYearly, TimeZone: "Asia/Tokyo", Format: "{date:yyyy}-{seq:04}", Description: "all of it",
			BlockDuration: 2500 * time.Millisecond, MinBlock: 5, MaxBlock: 50,
		}
		create(t, full)
		got, err := cl.GetSequence(t.Context(), "full")
		if err != nil || !reflect.DeepEqual(got.SequenceSpec, full) || got.Period%10000 != 101 || *got.Next != 90 {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := cl.GetSequence(t.Context(), "none"); !errors.Is(err, client.ErrUnknownSequence) {
			t.Errorf("a sequence that does not exist: %v", err)
		}
	})
	t.Run("refusals", func(t *testing.T) {
		for what, spec := range map[string]client.SequenceSpec{
			"no name": {}, "a mode": {Name: "x", Mode: 7}, "a reset": {Name: "x", Reset: 7}, "a duration": {Name: "x", BlockDuration: time.Microsecond},
			"a negative duration": {Name: "x", BlockDuration: -1}, "a size": {Name: "x", MinBlock: -1}, "a greatest size": {Name: "x", MaxBlock: -1},
		} {
			if info, err := cl.CreateSequence(t.Context(), spec); !errors.Is(err, client.ErrInvalidArgument) {
				t.Errorf("%s: %+v, %v", what, info, err)
			}
		}
		if _, err := cl.CreateSequence(t.Context(), client.SequenceSpec{Name: "x"}, client.WithSequenceGeneration(1)); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("a new sequence with a generation: %v", err)
		}
		if _, err := cl.DeleteSequence(t.Context(), "x", client.WithSequenceForce()); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("a deletion by force: %v", err)
		}
		if _, err := cl.Sequence("x").SetNext(t.Context(), 1, client.WithSequenceForceFormat()); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("a next number with a forced format: %v", err)
		}
		monthly := client.SequenceSpec{Name: "alike", Reset: sequence.ResetMonthly, Format: "{seq}"}
		if _, err := cl.CreateSequence(t.Context(), monthly, client.WithSequenceForce()); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("a format that repeats texts: %v", err)
		}
		if _, err := cl.CreateSequence(t.Context(), monthly, client.WithSequenceForceFormat()); err != nil {
			t.Errorf("a forced format: %v", err)
		}
	})
	t.Run("update", func(t *testing.T) {
		before := create(t, client.SequenceSpec{Name: "changing"})
		want := before.SequenceSpec
		for what, step := range map[string]struct {
			update client.SequenceUpdate
			field  func()
		}{
			"mode":        {client.SequenceUpdate{Mode: new(client.ModeRelaxed)}, func() { want.Mode = client.ModeRelaxed }},
			"start":       {client.SequenceUpdate{Start: new(int64(2))}, func() { want.Start = new(int64(2)) }},
			"increment":   {client.SequenceUpdate{Increment: new(int64(3))}, func() { want.Increment = new(int64(3)) }},
			"min":         {client.SequenceUpdate{Min: new(int64(-4))}, func() { want.Min = new(int64(-4)) }},
			"max":         {client.SequenceUpdate{Max: new(int64(1000))}, func() { want.Max = new(int64(1000)) }},
			"time zone":   {client.SequenceUpdate{TimeZone: new("Asia/Tokyo")}, func() { want.TimeZone = "Asia/Tokyo" }},
			"format":      {client.SequenceUpdate{Format: new("A{seq}")}, func() { want.Format = "A{seq}" }},
			"description": {client.SequenceUpdate{Description: new("new")}, func() { want.Description = "new" }},
			"duration":    {client.SequenceUpdate{BlockDuration: new(time.Second)}, func() { want.BlockDuration = time.Second }},
			"min block":   {client.SequenceUpdate{MinBlock: new(7)}, func() { want.MinBlock = 7 }},
			"max block":   {client.SequenceUpdate{MaxBlock: new(777)}, func() { want.MaxBlock = 777 }},
		} {
			info, err := cl.UpdateSequence(t.Context(), "changing", step.update)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			step.field()
			if !reflect.DeepEqual(info.SequenceSpec, want) || info.Generation <= before.Generation {
				t.Errorf("%s: %+v, want %+v", what, info, want)
			}
			before = info
		}
		info, err := cl.UpdateSequence(t.Context(), "changing", client.SequenceUpdate{Reset: new(sequence.ResetDaily), Format: new("B{date:yyyyMMdd}-{seq}"), Description: new("")})
		if err != nil || info.Reset != sequence.ResetDaily || info.Description != "" {
			t.Errorf("%+v, %v", info, err)
		}
		if _, err := cl.UpdateSequence(t.Context(), "changing", client.SequenceUpdate{Description: new("late")}, client.WithSequenceGeneration(before.Generation)); !errors.Is(err, client.ErrGenerationMismatch) {
			t.Errorf("an update of an old generation: %v", err)
		}
		if _, err := cl.UpdateSequence(t.Context(), "changing", client.SequenceUpdate{Description: new("in time")}, client.WithSequenceGeneration(info.Generation)); err != nil {
			t.Errorf("an update of the present generation: %v", err)
		}
		if _, err := cl.UpdateSequence(t.Context(), "none", client.SequenceUpdate{Description: new("")}); !errors.Is(err, client.ErrUnknownSequence) {
			t.Errorf("a sequence that does not exist: %v", err)
		}
	})
	t.Run("next and last", func(t *testing.T) {
		create(t, client.SequenceSpec{Name: "moving"})
		s := cl.Sequence("moving")
		if last, ok, err := s.Last(t.Context()); ok || err != nil {
			t.Errorf("Last() = %d, %t, %v before the first number", last, ok, err)
		}
		info, err := s.SetNext(t.Context(), 100)
		if err != nil || info.Next == nil || *info.Next != 100 {
			t.Fatalf("SetNext() = %+v, %v", info, err)
		}
		if n, err := s.Next(t.Context()); n != 100 || err != nil {
			t.Errorf("Next() = %d, %v, want 100", n, err)
		}
		if last, ok, err := s.Last(t.Context()); last != 100 || !ok || err != nil {
			t.Errorf("Last() = %d, %t, %v, want 100", last, ok, err)
		}
		if _, err := s.SetNext(t.Context(), 100); !errors.Is(err, client.ErrWouldRepeat) {
			t.Errorf("SetNext() = %v, want ErrWouldRepeat", err)
		}
		if _, err := s.SetNext(t.Context(), 100, client.WithSequenceForce(), client.WithSequenceGeneration(info.Generation+100)); !errors.Is(err, client.ErrGenerationMismatch) {
			t.Errorf("SetNext() = %v, want ErrGenerationMismatch", err)
		}
		if _, err := s.SetNext(t.Context(), 100, client.WithSequenceForce()); err != nil {
			t.Errorf("SetNext() = %v by force", err)
		}
		if _, _, err := cl.Sequence("none").Last(t.Context()); !errors.Is(err, client.ErrUnknownSequence) {
			t.Errorf("Last() = %v, want ErrUnknownSequence", err)
		}
	})
	t.Run("list and delete", func(t *testing.T) {
		for i := range 3 {
			create(t, client.SequenceSpec{Name: fmt.Sprintf("list-%d", i)})
		}
		var names []string
		for info, err := range cl.ListSequences(t.Context(), "list-") {
			if err != nil {
				t.Fatal(err)
			}
			if names = append(names, info.Name); len(names) == 2 {
				break
			}
		}
		if fmt.Sprint(names) != "[list-0 list-1]" {
			t.Errorf("listed %v", names)
		}
		info := create(t, client.SequenceSpec{Name: "list-0"})
		if _, err := cl.DeleteSequence(t.Context(), "list-0", client.WithSequenceGeneration(info.Generation+1)); !errors.Is(err, client.ErrGenerationMismatch) {
			t.Errorf("a deletion of another generation: %v", err)
		}
		if unreached, err := cl.DeleteSequence(t.Context(), "list-0", client.WithSequenceGeneration(info.Generation)); err != nil || len(unreached) != 0 {
			t.Errorf("deleted: %v, %v", unreached, err)
		}
		if _, err := cl.DeleteSequence(t.Context(), "list-0"); !errors.Is(err, client.ErrUnknownSequence) {
			t.Errorf("deleted twice: %v", err)
		}
	})
}
