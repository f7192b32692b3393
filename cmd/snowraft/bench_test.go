package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestBenchReports holds what is printed of a run.
func TestBenchReports(t *testing.T) {
	t.Parallel()
	latency := hdrhistogram.New(1, time.Hour.Nanoseconds(), 3)
	for i := range int64(1000) {
		_ = latency.RecordValue((i + 1) * time.Millisecond.Nanoseconds())
	}
	cfg := benchConfig{addresses: []string{"10.0.0.1:7700", "10.0.0.2:7700"}, clients: 64, batch: 10, check: true}
	clean := benchReport{
		command: "ids", noun: "IDs", cfg: cfg, connections: 2,
		result: &load.Result{Elapsed: 10 * time.Second, Calls: 1000, Numbers: 10000, Latency: latency, Report: load.DuplicateReport{Checked: 10000}},
	}
	embedded := clean
	embedded.command, embedded.connections = "embedded", 0
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
	for _, r := range []benchReport{clean, embedded, bad, unchecked, full} {
		for _, output := range []string{outputText, outputJSON} {
			if err := r.print(&printer{w: &text, json: output == outputJSON}); err != nil {
				t.Fatal(err)
			}
			text.WriteString("\n")
		}
	}
	golden(t, "bench", text.String())
	const want = "3 of 9000 numbers came a second time, expected none: 5, -1, ..."
	if err := bad.failure(); err == nil || err.Error() != want {
		t.Errorf("the failure is %v, expected %s", err, want)
	}
	if err := clean.failure(); err != nil {
		t.Error(err)
	}
}

func TestBenchIDs(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	var doc benchDoc
	decodeJSON(t, succeeds(t, "bench", "ids", "--addr", f.address, "-d", "50ms", "-b", "2500", "-c", "3", "--layout", "orders", "-o", "json"), &doc)
	asked := f.asked()
	last := asked[len(asked)-1].(*snowraftv1.GenerateIdsRequest)
	if last.GetCount() != 2500 || last.GetLayout() != "orders" || last.GetPacked() {
		t.Errorf("asks for %v", last)
	}
	if doc.Calls == 0 || doc.Numbers != 2500*doc.Calls || doc.Check.Checked != doc.Numbers || doc.Check.Duplicates != 0 || doc.Failed != 0 || doc.Clients != 3 {
		t.Errorf("%+v", doc)
	}
	decodeJSON(t, succeeds(t, "bench", "ids", "--addr", f.address, "-d", "50ms", "--packed", "-r", "100", "--check=false", "-o", "json"), &doc)
	if doc.Calls+doc.Overdue != 5 || doc.Numbers != doc.Calls || doc.Check != nil {
		t.Errorf("%+v, expected 5 calls", doc) // overdue: this machine may be slow
	}
}

// A server that repeats itself is found out.
func TestBenchFindsDuplicates(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	var calls atomic.Int64
	f.first(func(context.Context) error {
		if calls.Add(1) == 20 {
			f.mu.Lock()
			f.next -= 5 * (1 + 7) // the last five again
			f.mu.Unlock()
		}
		return nil
	})
	stdout, stderr, code := command(t, "bench", "ids", "--addr", f.address, "-d", "200ms", "-c", "1")
	if code != exitFailed || !strings.Contains(stdout, "Unique   NO: 5 of ") ||
		!strings.HasPrefix(stderr, "snowraft: 5 of ") || !strings.Contains(stderr, " IDs came a second time, expected none: 2497092884008") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestBenchSequence(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	var doc benchDoc
	decodeJSON(t, succeeds(t, "bench", "seq", "countdown", "--addr", f.address, "-d", "50ms", "-b", "3", "-o", "json"), &doc)
	if doc.Calls == 0 || doc.Numbers != 3*doc.Calls || doc.Check.Checked != doc.Numbers || doc.Check.Duplicates != 0 {
		t.Errorf("%+v", doc)
	}
}

// What fails from the start is an error, and so is a run in which nothing succeeded.
func TestBenchFails(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.first(func(context.Context) error { return refuse(codes.Internal, "broken") })
	stdout, stderr, code := command(t, "bench", "ids", "--addr", f.address, "-d", "50ms")
	if code != exitFailed || stdout != "" || stderr != "snowraft: broken [Internal]\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	var calls atomic.Int64
	f.first(func(context.Context) error {
		if calls.Add(1) == 1 {
			return nil
		}
		return refuse(codes.Internal, "broken")
	})
	stdout, stderr, code = command(t, "bench", "ids", "--addr", f.address, "-d", "50ms")
	if code != exitFailed || !strings.Contains(stdout, "INTERNAL") || stderr != "snowraft: no call succeeded: broken [INTERNAL]\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestBenchIsInterrupted(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	a := newTestApp()
	var calls atomic.Int64
	f.first(func(context.Context) error {
		if calls.Add(1) == 500 {
			a.sent <- interrupt
		}
		return nil
	})
	code := run(t.Context(), a.app, []string{"bench", "ids", "--addr", f.address, "-d", "1h", "-o", "json"})
	var doc benchDoc
	decodeJSON(t, a.out.String(), &doc)
	if code != exitDone || !doc.Interrupted || doc.Calls == 0 || doc.Failed != 0 {
		t.Errorf("exit code %d: %s%s", code, a.out.String(), a.err.String())
	}
}

func TestBenchHTTP(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100_000)
	var next atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.String()
		_, _ = io.WriteString(w, decimal(uint64(next.Add(1)))+"\n")
	}))
	t.Cleanup(s.Close)
	address := s.Listener.Addr().String()
	for line, want := range map[string]string{
		"http":                 "GET /id",
		"http --post":          "POST /id",
		"http --layout orders": "GET /id?layout=orders",
		"http tenant/a?b":      "GET /seq/tenant/a%3Fb",
	} {
		succeeds(t, append([]string{"bench", "--addr", address, "-d", "20ms", "-r", "100"}, strings.Fields(line)...)...)
		for range len(asked) {
			if got := <-asked; got != want {
				t.Errorf("%s asks for %s, expected %s", line, got, want)
			}
		}
	}
}

func TestBenchWithoutAServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	for _, line := range []string{"ids", "ids --coalesce", "seq a", "embedded", "redis a", "http"} {
		stdout, stderr, code := command(t, append([]string{"bench", "--addr", address}, strings.Fields(line)...)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, address) || !strings.Contains(stderr, "connection refused") {
			t.Errorf("%s: exit code %d: %s%s", line, code, stdout, stderr)
		}
	}
}

func TestProgressLine(t *testing.T) {
	t.Parallel()
	got := progressLine(load.Progress{Elapsed: time.Second, Calls: 100, Numbers: 1000},
		load.Progress{Elapsed: 3 * time.Second, Calls: 400, Numbers: 4000, Failed: 2}, "IDs")
	if want := "3s  150 calls/s  1500 IDs/s  2 failed"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}

// What takes less than a microsecond is not written as nothing.
func TestBenchLatencyHasDigits(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]benchLatency{
		"p50 0.141, p90 0.200, p99 0.541, p99.9 1.20, max 120000 µs": {
			P50: inMillis(141), P90: inMillis(200), P99: inMillis(541), P999: inMillis(1200), Max: inMillis(120 * time.Millisecond)},
		"p50 0.147, p90 0.306, p99 3.07, p99.9 7.57, max 11.2 ms": {
			P50: inMillis(147 * time.Microsecond), P90: inMillis(306 * time.Microsecond), P99: inMillis(3070 * time.Microsecond),
			P999: inMillis(7570 * time.Microsecond), Max: inMillis(11200 * time.Microsecond)},
	} {
		if got := l.String(); got != want {
			t.Errorf("%s, expected %s", got, want)
		}
	}
}
