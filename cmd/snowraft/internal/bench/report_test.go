package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/load"
)

// TestBenchReports checks the printed reports of runs.
func TestBenchReports(t *testing.T) {
	t.Parallel()
	latency := hdrhistogram.New(1, time.Hour.Nanoseconds(), 3)
	for i := range int64(1000) {
		_ = latency.RecordValue((i + 1) * time.Millisecond.Nanoseconds())
	}
	cfg := config{addresses: []string{"10.0.0.1:7700", "10.0.0.2:7700"}, clients: 64, batch: 10, check: true}
	clean := report{
		command: "ids", noun: "IDs", cfg: cfg, connections: 2,
		result: &load.Result{Elapsed: 10 * time.Second, Calls: 1000, Numbers: 10000, Latency: latency, Report: load.DuplicateReport{Checked: 10000}},
	}
	coalesced := clean
	coalesced.connections = 0
	bad := clean
	bad.command, bad.noun, bad.signed, bad.interrupted, bad.connections, bad.cfg.rate = "seq", "numbers", true, true, 1, 500
	bad.result = &load.Result{
		Elapsed: 1500 * time.Millisecond, Calls: 1000, Numbers: 10000, Overdue: 7, Latency: latency,
		Failures: []load.Failure{{Reason: "CLOCK_BEHIND", Count: 12, Example: "behind\nby 5 s"}, {Reason: "TIMEOUT", Count: 1, Example: "no answer in time"}},
		Report:   load.DuplicateReport{Checked: 9000, Skipped: 1000, Duplicates: 3, Examples: []uint64{5, 1<<64 - 1}},
	}
	unchecked := clean
	unchecked.cfg.check = false
	full := clean
	full.result = &load.Result{Latency: latency, Report: load.DuplicateReport{Checked: 9000, Skipped: 1000}}
	var text strings.Builder
	out := &cli.App{Stdout: &text, Columns: func() int { return 0 }}
	for _, r := range []report{clean, coalesced, bad, unchecked, full} {
		for _, output := range []string{cli.OutputText, cli.OutputJSON} {
			if err := r.print(out.Printer(output)); err != nil {
				t.Fatal(err)
			}
			text.WriteString("\n")
		}
	}
	clitest.Golden(t, "report", text.String())
	const want = "3 of 9000 numbers are duplicates: 5, -1, ..."
	if err := bad.failure(); err == nil || err.Error() != want {
		t.Errorf("the failure is %v, want %s", err, want)
	}
	if err := clean.failure(); err != nil {
		t.Error(err)
	}
}

// The text of a latency below a microsecond is not zero.
func TestBenchLatencyHasDigits(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]latency{
		"p50 0.141, p90 0.200, p99 0.541, p99.9 1.20, max 120000 µs": {
			P50: inMillis(141), P90: inMillis(200), P99: inMillis(541), P999: inMillis(1200), Max: inMillis(120 * time.Millisecond)},
		"p50 0.147, p90 0.306, p99 3.07, p99.9 7.57, max 11.2 ms": {
			P50: inMillis(147 * time.Microsecond), P90: inMillis(306 * time.Microsecond), P99: inMillis(3070 * time.Microsecond),
			P999: inMillis(7570 * time.Microsecond), Max: inMillis(11200 * time.Microsecond)},
	} {
		if got := l.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
