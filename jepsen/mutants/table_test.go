//go:build linux

package mutants

import (
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/mutant"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/workload"
)

// promised are the bugs that runs have to show. That a snapshot restored without a fence is one
// more does not apply: nothing restores a cluster from a backup.
var promised = []string{
	"no-token-check", "no-extend-cas", "reuse-window", "release-too-low", "trust-replica", "assume-extended",
	"keep-leader-term", "no-sync", "snapshot-forgets", "reset-before-check", "now-in-apply", "sequence-wraps",
	"worker-out-of-range", "forward-without-id", "count-nonvoters", "old-acknowledgement",
}

func TestRows(t *testing.T) {
	t.Parallel()
	names := Names()
	for _, bug := range append(slices.Clone(promised), ControlName) {
		if !slices.Contains(names, bug) {
			t.Errorf("%s is missing", bug)
		}
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(names))); len(sorted) != len(names) {
		t.Errorf("some are there twice: %v", names)
	}
	patches, err := mutant.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	checkers := []string{containment, logAudit, uniqueness, order, refusal, liveness, restored}
	for _, r := range Rows() {
		if _, err := mutant.Named(patches, r.Bug); err != nil && !r.control() {
			t.Error(err)
		}
		if r.control() != (len(r.Expected) == 0) {
			t.Errorf("%s: expected of %v", r.Name(), r.Expected)
		}
		for _, name := range r.Expected {
			if !slices.Contains(checkers, name) {
				t.Errorf("%s: there is no checker %q", r.Name(), name)
			}
		}
		if len(r.Workloads) == 0 {
			t.Errorf("%s: no workload", r.Name())
		}
		for _, name := range r.Workloads {
			if _, err := workload.Choose(name); err != nil {
				t.Errorf("%s: %v", r.Name(), err)
			}
		}
		if r.Duration < 5*time.Second || r.Duration > time.Minute {
			t.Errorf("%s takes %v", r.Name(), r.Duration)
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
			t.Errorf("%s has %d faults", r.Name(), len(plan.Events))
		}
		for _, e := range plan.Events {
			kind, err := nemesis.Named(e.Fault)
			if err != nil {
				t.Errorf("%s: %v", r.Name(), err)
			}
			if kind.Members > plan.Members {
				t.Errorf("%s: %s needs %d members", r.Name(), e.Fault, kind.Members)
			}
			if time.Duration(e.At)+time.Duration(e.For) > r.Duration {
				t.Errorf("%s: %s is not over in time", r.Name(), e.Fault)
			}
		}
		other, err := r.Plan(8)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Events) > 0 && len(other.Events) > 0 && plan.Events[0].Seed == other.Events[0].Seed {
			t.Errorf("%s: the same for another seed", r.Name())
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	if rows, err := Choose(nil); err != nil || len(rows) != len(Rows()) {
		t.Errorf("all: %d, %v", len(rows), err)
	}
	rows, err := Choose([]string{"no-sync", ControlName})
	if err != nil || len(rows) != 2 || rows[0].Bug != "no-sync" || !rows[1].control() {
		t.Errorf("%+v, %v", rows, err)
	}
	if _, err := Choose([]string{"no-such"}); err == nil {
		t.Error("an unknown one was accepted")
	}
}
