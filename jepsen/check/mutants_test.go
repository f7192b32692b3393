//go:build mutants

package check

import (
	"flag"
	"math"
	"os/exec"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/mutant"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// The checkers must see what members did in which a bug is planted, without having it themselves. So
// another process, which is built with the bug, makes the run, and this one judges it.

var recordTo = flag.String("check.record", "", "where TestRecord makes its run")

var scripts = map[string]func(*world){"digests": digests, "snapshot": snapshot, "windows": windows}

// TestRecord makes a run by each script.
func TestRecord(t *testing.T) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if *recordTo != "" {
				w = newWorldIn(t, *recordTo)
			}
			script(w)
			w.finish()
		})
	}
}

// recorded is the run that a script makes with a bug.
func recorded(t *testing.T, script, bug string) (*Run, *raftlog.Log) {
	t.Helper()
	root, err := mutant.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutant.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	var planted []mutant.Patch
	if bug != "" {
		if planted, err = mutant.Named(all, bug); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := mutant.Overlay(t.Context(), root, t.TempDir(), planted...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags=mutants", "-vet=off", "-count=1", "-overlay="+overlay,
		"-run=^TestRecord$/^"+script+"$", ".", "-check.record="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	log, err := raftlog.Open(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r, log
}

// A cluster whose members all have the same bug agrees with itself. The digests that it wrote into its
// log show that the log is not what it made of it.
func TestLogAuditCatchesPlantedBugs(t *testing.T) {
	for _, bug := range []string{
		"", "no-token-check", "no-extend-cas", "release-too-low", "reset-high-water", "ignore-high-water",
		"period-back", "return-any-block", "answer-forgotten", "worker-out-of-range", "no-clock-check",
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			v := LogAudit(recorded(t, "digests", bug))
			if bug == "" {
				wantVerdict(t, v, Pass, "")
			} else {
				wantVerdict(t, v, Fail, "the members applied something else")
			}
		})
	}
}

func digests(w *world) {
	w.script()
	w.checkpoint(0, nil)
	index, digest := w.state.LastCheckpoint()
	w.checkpoint(index, digest[:])
}

// Snapshots show the same, and what is missing in them.
func TestLogAuditCatchesPlantedBugsInSnapshots(t *testing.T) {
	for _, bug := range []string{"", "snapshot-forgets", "no-token-check", "no-extend-cas", "ignore-high-water"} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			if v := LogAudit(recorded(t, "snapshot", bug)); v.Outcome != failsIf(bug != "") {
				t.Errorf("%+v", v)
			}
		})
	}
}

func snapshot(w *world) {
	w.script()
	w.takeSnapshot()
}

// script does what each of the bugs gets wrong.
func (w *world) script() {
	first := w.acquire(10, "n1/0", 1)
	w.acquire(10, "n2/0", 2)
	w.ask(9, "n4/0", 4) // there is no third worker, also within the wait threshold
	extended := w.extend(60, first, 1).Grant
	w.extend(70, first, 1)    // with an old end
	w.extend(75, extended, 9) // with another nonce
	w.do(w.layout.MillisAt(80), &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: &commandv1.ReleaseWorker{
		Layout: worldSpec.Name, Worker: extended.Worker, Token: extended.Token, NonceHash: worldNonce(1), UntilTick: extended.Until, NextTick: 90,
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
	w.do(w.layout.MillisAt(20_000), &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}})
	w.ask(10_000, "n5/0", 5) // with a clock that is far behind
}

// ask requests a worker that only a planted bug grants.
func (w *world) ask(tick int64, holder string, nonce byte) {
	w.do(w.layout.MillisAt(tick), &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
		Layout: worldSpec.Name, Holder: holder, NonceHash: worldNonce(nonce), WindowMs: 100,
	}}})
}

// IDs of windows that only a broken state machine grants are in none of the replay's.
func TestContainmentCatchesPlantedBugs(t *testing.T) {
	for _, bug := range []string{"", "ignore-high-water", "no-extend-cas"} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			if v := Containment(recorded(t, "windows", bug)); v.Outcome != failsIf(bug != "") {
				t.Errorf("%+v", v)
			}
		})
	}
}

func windows(w *world) {
	w.process(1, "n1", false)
	w.process(2, "n2", false)
	first, second := w.acquire(10, "n1/0", 1), w.acquire(10, "n2/0", 2)
	grants := []fsm.Grant{first, w.acquire(20, "n2/1", 2), w.extend(60, first, 1).Grant, w.extend(90, second, 2).Grant, w.extend(180, second, 2).Grant}
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
}
