//go:build mutants

package check

import (
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/mutant"
)

// A cluster whose members all have the same bug agrees with itself. That its log is not what it
// made of it shows in the digests that it wrote there.
func TestLogAuditCatchesPlantedBugs(t *testing.T) {
	for _, bug := range []mutant.Bug{
		"", mutant.NoTokenCheck, mutant.NoExtendCAS, mutant.ReleaseTooLow, mutant.ResetHighWater, mutant.IgnoreHighWater,
		mutant.PeriodBack, mutant.ReturnAnyBlock, mutant.AnswerForgotten,
	} {
		t.Run(string(bug), func(t *testing.T) {
			undo := mutant.Plant(bug)
			defer undo()
			w := newWorld(t)
			w.script()
			w.checkpoint(0, nil)
			index, digest := w.state.LastCheckpoint()
			w.checkpoint(index, digest[:])
			undo()
			run, log := w.finish()
			v := LogAudit(run, log)
			if bug == "" {
				wantVerdict(t, v, Pass, "")
			} else {
				wantVerdict(t, v, Fail, "the members applied something else")
			}
		})
	}
}

// Snapshots tell the same, and what was left out of them.
func TestLogAuditCatchesPlantedBugsInSnapshots(t *testing.T) {
	for _, bug := range []mutant.Bug{"", mutant.SnapshotForgets, mutant.NoTokenCheck, mutant.NoExtendCAS, mutant.IgnoreHighWater} {
		t.Run(string(bug), func(t *testing.T) {
			undo := mutant.Plant(bug)
			defer undo()
			w := newWorld(t)
			w.script()
			w.takeSnapshot()
			undo()
			run, log := w.finish()
			v := LogAudit(run, log)
			outcome := Fail
			if bug == "" {
				outcome = Pass
			}
			if v.Outcome != outcome {
				t.Errorf("%+v", v)
			}
		})
	}
}

// script does what each of the bugs gets wrong.
func (w *world) script() {
	w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: 2}}})
	first := w.acquire(10, "n1/0", 1)
	w.acquire(10, "n2/0", 2)
	extended := w.extend(60, first, 1).Grant
	w.extend(70, first, 1)    // with an old end
	w.extend(75, extended, 9) // with another nonce
	w.do(w.layout.MillisAt(80), &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: &commandv1.ReleaseWorker{
		Layout: worldSpec.Name, Worker: extended.Worker, Token: extended.Token, Nonce: worldNonce(1), Until: extended.Until, Next: 90,
	}}})
	w.acquire(85, "n3/0", 3) // begins at 90
	w.acquire(500, "n3/0", 4)
	created := w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{
		Spec: sequenceSpec("s", 1, 0, math.MaxInt64), Period: 20250102,
	}}}).Sequence
	w.allocate(created.Generation, 10, 20250102, "id")
	w.allocate(created.Generation, 10, 20250102, "id")
	w.allocate(created.Generation, 10, 20250101, "") // a period before
	w.giveBack(1, 5)                                 // of no block
}

// IDs of windows that only a broken state machine grants are in none of the replay's.
func TestContainmentCatchesPlantedBugs(t *testing.T) {
	for _, bug := range []mutant.Bug{"", mutant.IgnoreHighWater, mutant.NoExtendCAS} {
		t.Run(string(bug), func(t *testing.T) {
			undo := mutant.Plant(bug)
			defer undo()
			w := newWorld(t)
			w.process(1, "n1", false)
			w.process(2, "n2", false)
			first, second := w.acquire(10, "n1/0", 1), w.acquire(10, "n2/0", 2)
			grants := []fsm.Grant{first, w.acquire(20, "n2/1", 2), w.extend(60, first, 1).Grant, w.extend(90, second, 2).Grant, w.extend(180, second, 2).Grant}
			undo()
			for _, g := range grants {
				if g.Until > 0 { // it was granted
					start := uint32(2)
					if g.Token == first.Token {
						start = 1
					}
					w.issue(start, g.Worker, g.From, 0, 1)
					w.issue(start, g.Worker, g.Until-1, 0, 1)
				}
			}
			outcome := Fail
			if bug == "" {
				outcome = Pass
			}
			if v := Containment(w.finish()); v.Outcome != outcome {
				t.Errorf("%+v", v)
			}
		})
	}
}
