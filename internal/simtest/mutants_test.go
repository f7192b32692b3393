//go:build mutants

package simtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/mutant"
)

// TestPlantedBugsAreCaught shows that the audit can fail. It runs alone: a bug
// is planted in the whole process.
func TestPlantedBugsAreCaught(t *testing.T) {
	for _, bugs := range [][]mutant.Bug{
		nil,
		{mutant.TrustReplica},
	} {
		var names []string
		for _, b := range bugs {
			names = append(names, string(b))
		}
		t.Run("bugs="+strings.Join(names, "+"), func(t *testing.T) {
			defer mutant.Plant(bugs...)()
			t.Setenv("SNOWRAFT_MUTANT_DIR", t.TempDir())
			o := scarce
			o.planted = true
			var w *world
			simulate(t, o, func(in *world) { w = in; w.havoc(60) })
			if (w.found > 0) != (len(bugs) > 0) {
				t.Errorf("%d faults found", w.found)
			}
		})
	}
}

func TestPlantedBugsOfLeadersAreCaught(t *testing.T) {
	for _, bugs := range [][]mutant.Bug{nil, {mutant.NoConfirm}, {mutant.KeepReign}, {mutant.OldAcknowledgement}} {
		t.Run(fmt.Sprint("bugs=", bugs), func(t *testing.T) {
			defer mutant.Plant(bugs...)()
			var w *world
			simulate(t, options{idle: true, planted: true, sequences: []rules{{spec: plain("s", strict)}}}, func(in *world) {
				w = in
				w.staleLeaders(10)
			})
			if (w.found > 0) != (len(bugs) > 0) {
				t.Errorf("%d faults found", w.found)
			}
		})
	}
}

func TestPlantedBugsOfFreshLeadersAreCaught(t *testing.T) {
	for _, bug := range []mutant.Bug{"", mutant.NoBarrier} {
		t.Run("bug="+string(bug), func(t *testing.T) {
			defer mutant.Plant(bug)()
			var w *world
			simulate(t, options{idle: true, planted: true, sequences: []rules{{spec: plain("s", strict)}}}, func(in *world) {
				w = in
				w.freshLeaders(10)
			})
			if (w.found > 0) != (bug != "") {
				t.Errorf("%d faults found", w.found)
			}
		})
	}
}

func TestPlantedBugsOfAbsenceAreCaught(t *testing.T) {
	defer mutant.Plant(mutant.TrustAbsence)()
	var w *world
	simulate(t, options{idle: true, planted: true}, func(in *world) { w = in; w.absences() })
	if w.found == 0 {
		t.Error("no faults found")
	}
}
