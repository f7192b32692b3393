//go:build mutants

package check

import (
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/build/mutant"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// The checkers must detect bugs planted in members without having the bugs themselves. Therefore, a process built with
// the bug makes the run, and this process judges it.

var recordTo = flag.String("check.record", "", "directory of the run that TestRecord makes; empty for a temporary one")

var scripts = map[string]func(*world){"digests": digests, "snapshot": snapshot, "windows": windows}

// TestRecord makes a run with each script.
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

// recorded are the bugs that the recorder may have.
var recorded = []string{
	"no-token-check", "no-extend-cas", "release-too-low", "reset-high-water", "ignore-high-water", "period-back",
	"return-any-block", "answer-forgotten", "worker-out-of-range", "no-clock-check", "snapshot-forgets",
}

var selection = mutant.NewSelection(flag.CommandLine)

// recorder is a program of these tests with planted bugs, of which each process chooses one.
type recorder struct {
	program string
	bugs    []string
}

// newRecorder builds the same program in each test: the second build takes little.
func newRecorder(t *testing.T) *recorder {
	t.Helper()
	root, err := mutant.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutant.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	planted, err := mutant.Named(all, recorded...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range planted {
		planted[i].Runs = append(planted[i].Runs, mutant.Run{Package: "./jepsen/check"})
	}
	if planted, err = selection.Of(t.Context(), root, planted); err != nil {
		t.Fatal(err)
	}
	r := &recorder{program: filepath.Join(t.TempDir(), "recorder")}
	overlay, fit, err := mutant.Combine(t.Context(), root, t.TempDir(), planted...)
	if err != nil || len(fit) != len(planted) {
		t.Fatalf("of the bugs %v, only %v fit in one program: %v", recorded, fit, err)
	}
	r.bugs = fit
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags=mutants", "-vet=off", "-overlay="+overlay, "-o="+r.program, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// run makes a run with a script and a planted bug, and opens the run. An empty bug plants none.
func (r *recorder) run(t *testing.T, script, bug string) (*Run, *raftlog.Log) {
	t.Helper()
	if bug != "" && !slices.Contains(r.bugs, bug) {
		t.Skip("this bug is not selected")
	}
	dir, trace := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), r.program, "-test.run=^TestRecord$/^"+script+"$", "-check.record="+dir)
	cmd.Env = append(os.Environ(), mutant.Choice+"="+bug, mutant.Trace+"="+trace)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(trace, bug)); err != nil {
		t.Fatalf("no code of the bug ran: %v", err)
	}
	made, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	log, err := raftlog.Open(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	return made, log
}

// Members that all have the same bug agree with each other. The digests in their log differ from those of a replay
// without the bug.
func TestLogAuditCatchesPlantedBugs(t *testing.T) {
	r := newRecorder(t)
	for _, bug := range []string{
		"", "no-token-check", "no-extend-cas", "release-too-low", "reset-high-water", "ignore-high-water",
		"period-back", "return-any-block", "answer-forgotten", "worker-out-of-range", "no-clock-check",
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			v := LogAudit(r.run(t, "digests", bug))
			if bug == "" {
				wantVerdict(t, v, Pass, "")
			} else {
				wantVerdict(t, v, Fail, "the members applied entries differently")
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

// Snapshots show the same bugs, and bugs in the snapshots themselves.
func TestLogAuditCatchesPlantedBugsInSnapshots(t *testing.T) {
	r := newRecorder(t)
	for _, bug := range []string{"", "snapshot-forgets", "no-token-check", "no-extend-cas", "ignore-high-water"} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			if v := LogAudit(r.run(t, "snapshot", bug)); v.Outcome != failsIf(bug != "") {
				t.Errorf("LogAudit() = %+v, want %s", v, failsIf(bug != ""))
			}
		})
	}
}

func snapshot(w *world) {
	w.script()
	w.takeSnapshot()
}

// script runs commands for which each of the bugs returns a wrong result.
func (w *world) script() {
	first := w.acquire(10, "n1/0", 1)
	w.acquire(10, "n2/0", 2)
	w.ask(9, "n4/0", 4) // no third worker; clock behind within the wait threshold
	extended := w.extend(60, first, 1).Grant
	w.extend(70, first, 1)    // old end
	w.extend(75, extended, 9) // another nonce
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
	w.allocate(created.Generation, 10, 20250101, "") // earlier period
	w.giveBack(1, 5)                                 // token of no block
	w.do(w.layout.MillisAt(20_000), &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}})
	w.ask(10_000, "n5/0", 5) // clock far behind
}

// ask requests a worker that only a planted bug grants.
func (w *world) ask(tick int64, holder string, nonce byte) {
	w.do(w.layout.MillisAt(tick), &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
		Layout: worldSpec.Name, Holder: holder, NonceHash: worldNonce(nonce), WindowMs: 100,
	}}})
}

// IDs from windows that only a buggy state machine grants are outside the windows of the replay.
func TestContainmentCatchesPlantedBugs(t *testing.T) {
	r := newRecorder(t)
	for _, bug := range []string{"", "ignore-high-water", "no-extend-cas"} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			if v := Containment(r.run(t, "windows", bug)); v.Outcome != failsIf(bug != "") {
				t.Errorf("Containment() = %+v, want %s", v, failsIf(bug != ""))
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
		if g.Until > 0 { // granted
			start := uint32(2)
			if g.Token == first.Token {
				start = 1
			}
			w.issue(start, g.Worker, g.From, 0, 1)
			w.issue(start, g.Worker, g.Until-1, 0, 1)
		}
	}
}
