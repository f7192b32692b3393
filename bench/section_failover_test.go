package main

import (
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/snowraft/snowraft/internal/load"
)

func TestFailoverIsJudged(t *testing.T) {
	t.Parallel()
	latency := hdrhistogram.New(1, time.Hour.Nanoseconds(), 3)
	_ = latency.RecordValue(int64(150 * time.Millisecond))
	r := &load.Result{Calls: 1, Latency: latency, Failures: []load.Failure{{Reason: "NO_LEADER", Count: 2, Example: "none"}}}
	quick := hdrhistogram.New(1, time.Hour.Nanoseconds(), 3)
	_ = quick.RecordValue(int64(50 * time.Millisecond))
	good := failures{&load.Result{Calls: 1, Latency: quick}, samples{time.Second}}
	bad := failures{r, samples{time.Second, 3 * time.Second, time.Second}}
	table := failoverTable(bad, good)
	want := []string{
		"Target: no failed call: **not met**, 2.",
		"Target: the slowest call under 100 ms: **not met**, 150 ms.",
		"Target: strict sequences back within 2 s, the longest: **not met**, 3.0 s.",
		"2 calls failed with NO_LEADER: none",
	}
	if !slices.Equal(table.notes, want) {
		t.Errorf("%q, expected %q", table.notes, want)
	}
	want[1] = "Target: the slowest call under 100 ms: met, 50 ms."
	if table = failoverTable(good, bad); !slices.Equal(table.notes, want) {
		t.Errorf("%q, expected %q", table.notes, want)
	}
}
