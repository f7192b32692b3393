//go:build linux

package nemesis_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

func end(e schedule.Event) time.Duration { return time.Duration(e.At + e.For) }

// TestSchedules checks the invariants of every schedule: order, overlap, length, and the kinds that occur.
func TestSchedules(t *testing.T) {
	t.Parallel()
	length := 10 * time.Minute
	for seed := range uint64(50) {
		members := 3 + 2*int(seed%2)
		events := nemesis.Expand(seed, nemesis.Kinds(), length, members, []string{"embedded"})
		if again := nemesis.Expand(seed, nemesis.Kinds(), length, members, []string{"embedded"}); !reflect.DeepEqual(events, again) {
			t.Fatalf("seed %d: the same arguments yielded two schedules", seed)
		}
		seen := make(map[string]int)
		for i, e := range events {
			seen[e.Fault]++
			if end(e) > length {
				t.Errorf("seed %d: %+v ends after the run", seed, e)
			}
			if i > 0 && e.At < events[i-1].At {
				t.Errorf("seed %d: %+v is out of order", seed, e)
			}
			kind, err := nemesis.Named(e.Fault)
			if err != nil {
				t.Fatal(err)
			}
			overlap := 0
			for _, other := range events[:i] {
				if end(other) > time.Duration(e.At) {
					overlap++
					if before, _ := nemesis.Named(other.Fault); kind.Alone || before.Alone {
						t.Errorf("seed %d: %+v overlaps %+v, and one of them must be alone", seed, e, other)
					}
				}
			}
			if overlap > 1 {
				t.Errorf("seed %d: %+v overlaps %d other faults, want at most 1", seed, e, overlap)
			}
		}
		for _, k := range nemesis.Kinds() {
			if fits := k.Fits(members, []string{"embedded"}) == nil; fits != (seen[k.Name] > 0) {
				t.Errorf("seed %d: %d faults %s in %v with %d members", seed, seen[k.Name], k.Name, length, members)
			}
		}
	}
}

func TestExpandOmitsUnfitKinds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		for _, e := range nemesis.Expand(seed, nemesis.Kinds(), 5*time.Minute, 3, []string{"ids"}) {
			switch e.Fault {
			case "ring", "bridge":
				t.Errorf("schedule for three members has %s", e.Fault)
			case "generator-cut", "generator-clock":
				t.Errorf("schedule for a run without generators has %s", e.Fault)
			}
		}
	}
	if events := nemesis.Expand(1, nil, time.Minute, 3, nil); len(events) > 0 {
		t.Errorf("Expand() without kinds = %v, want no event", events)
	}
	kinds, err := nemesis.Choose("handover")
	if err != nil {
		t.Fatal(err)
	}
	if events := nemesis.Expand(1, kinds, time.Second, 3, nil); len(events) > 0 {
		t.Errorf("Expand() for a run that is too short = %v, want no event", events)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]int{"all": len(nemesis.Kinds()), "none": 0, "kill": 1, "kill,clock": 1 + 7} {
		if got, err := nemesis.Choose(names); err != nil || len(got) != want {
			t.Errorf("Choose(%q) = %d kinds, %v; want %d kinds", names, len(got), err, want)
		}
	}
	for _, names := range []string{"", "kil", "kill,"} {
		if got, err := nemesis.Choose(names); err == nil {
			t.Errorf("Choose(%q) = %v, want an error", names, got)
		}
	}
}

// TestMix checks the invariants of every mixed schedule: order, upgrades, and one finalization in the middle third.
func TestMix(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		length := 30 * time.Second
		drawn := nemesis.Expand(seed, nemesis.Kinds(), length, 3, nil)
		events := nemesis.Mix(seed, drawn, length)
		if again := nemesis.Mix(seed, drawn, length); !reflect.DeepEqual(events, again) {
			t.Fatalf("seed %d: the same arguments yielded two schedules", seed)
		}
		upgrades, finals := 0, 0
		for i, e := range events {
			if i > 0 && e.At < events[i-1].At {
				t.Errorf("seed %d: %+v is out of order", seed, e)
			}
			switch e.Fault {
			case "upgrade":
				upgrades++
			case "finalize":
				if finals++; time.Duration(e.At) < length/3 || time.Duration(e.At) > 2*length/3 {
					t.Errorf("seed %d: finalize at %v of %v, want it in the middle third", seed, time.Duration(e.At), length)
				}
			}
		}
		if upgrades < 2 || finals != 1 || len(events) < len(drawn)+3 {
			t.Errorf("seed %d: %d upgrades and %d finalizations in %d events, of which %d were drawn", seed, upgrades, finals, len(events), len(drawn))
		}
	}
}
