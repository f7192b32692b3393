//go:build linux

package mutants

import (
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/build/mutant"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/workload"
)

// promised lists the bugs that runs must show.
var promised = []string{
	"no-token-check", "no-extend-cas", "reuse-window", "release-too-low", "trust-replica", "assume-extended",
	"keep-leader-term", "no-sync", "snapshot-forgets", "reset-before-check", "now-in-apply", "sequence-wraps",
	"worker-out-of-range", "forward-without-id", "count-nonvoters", "old-acknowledgement", "no-clock-check", "no-barrier",
	"no-confirm", "floor-of-used-workers", "live-not-frozen", "no-cluster-check", "run-guard-sleeps", "run-end-ignored", "run-clock-not-compared",
}

func TestRows(t *testing.T) {
	t.Parallel()
	names := Names()
	for _, bug := range append(slices.Clone(promised), ControlName) {
		if !slices.Contains(names, bug) {
			t.Errorf("Rows() lacks %s", bug)
		}
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(names))); len(sorted) != len(names) {
		t.Errorf("Names() = %v, want no duplicate", names)
	}
	patches, err := mutant.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	checkers := []string{containment, logAudit, uniqueness, order, refusal, liveness, restored, documented}
	for _, r := range Rows() {
		if _, err := mutant.Named(patches, r.Bug); err != nil && !r.control() {
			t.Error(err)
		}
		if r.control() != (len(r.Expected) == 0) {
			t.Errorf("%s: Expected = %v, want empty only for a control", r.Name(), r.Expected)
		}
		for _, name := range r.Expected {
			if !slices.Contains(checkers, name) {
				t.Errorf("%s: unknown checker %q", r.Name(), name)
			}
		}
		if len(r.Workloads) == 0 {
			t.Errorf("%s: Workloads is empty", r.Name())
		}
		for _, name := range r.Workloads {
			if _, err := workload.Choose(name); err != nil {
				t.Errorf("%s: %v", r.Name(), err)
			}
		}
		if r.Duration < 5*time.Second || r.Duration > time.Minute {
			t.Errorf("%s: Duration = %v, want 5 s to 1 min", r.Name(), r.Duration)
		}
	}
}

func TestPlans(t *testing.T) {
	t.Parallel()
	for _, r := range Rows() {
		plan, err := r.Plan(7)
		if err != nil {
			t.Fatal(err)
		}
		if (r.Kinds != "" || len(r.Events) > 0) != (len(plan.Events) > 0) {
			t.Errorf("%s: Plan() has %d faults, want some only if the row has", r.Name(), len(plan.Events))
		}
		for _, e := range plan.Events {
			kind, err := nemesis.Named(e.Fault)
			if err != nil {
				t.Errorf("%s: %v", r.Name(), err)
			}
			if kind.Members > plan.Members {
				t.Errorf("%s: %s needs %d members, Plan() has %d", r.Name(), e.Fault, kind.Members, plan.Members)
			}
			if time.Duration(e.At)+time.Duration(e.For) > r.Duration {
				t.Errorf("%s: %s does not end within the run", r.Name(), e.Fault)
			}
		}
		other, err := r.Plan(8)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Events) > 0 && len(other.Events) > 0 && plan.Events[0].Seed == other.Events[0].Seed {
			t.Errorf("%s: Plan() is the same for another seed", r.Name())
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	if rows, err := Choose(nil); err != nil || len(rows) != len(Rows()) {
		t.Errorf("Choose(nil) = %d rows, %v, want all", len(rows), err)
	}
	rows, err := Choose([]string{"no-sync", ControlName})
	if err != nil || len(rows) != 2 || rows[0].Bug != "no-sync" || !rows[1].control() {
		t.Errorf("Choose() = %+v, %v", rows, err)
	}
	if _, err := Choose([]string{"no-such"}); err == nil {
		t.Error("Choose() of an unknown mutant succeeded")
	}
}
