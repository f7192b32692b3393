package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/snowraft/snowraft/internal/load"
)

func TestFailoverIsJudged(t *testing.T) {
	t.Parallel()
	result := func(slowest time.Duration, failures ...load.Failure) *load.Result {
		latency := hdrhistogram.New(1, time.Hour.Nanoseconds(), 3)
		_ = latency.RecordValue(int64(slowest))
		return &load.Result{Calls: 1, Latency: latency, Failures: failures}
	}
	quick, slow := result(50*time.Millisecond), result(150*time.Millisecond, load.Failure{Reason: "NO_LEADER", Count: 2, Example: "none"})
	good := handovers{quick, quick, samples{20e6, 30e6}, samples{20e6, 40e6}, 0, 1}
	bad := handovers{slow, quick, samples{20e6, 300e6, 300e6}, samples{20e6, 20e6, 600e6}, 1, 0}
	ways := []handover{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}
	want := []string{
		"Target: no failed calls. **Not met**: 2.",
		"Target: slowest ID under 100 ms after a kill, if all members had run for 5 s. **Not met**: 150 ms.",
		"Target: median interruption of strict numbers at most 250 ms after a kill. **Not met**: 300 ms.",
		"Target: longest interruption of strict numbers at most 500 ms after a kill. **Not met**: 600 ms.",
		"Target: longest interruption of strict numbers at most 50 ms after a stop. Met: 40 ms.",
		"Target: longest interruption of strict numbers at most 50 ms after a transfer. Met: 40 ms.",
		"Target: no elections beyond one per change of the leader. **Not met**: 1.",
		"2 calls failed with NO_LEADER: none",
	}
	table := failoverTable(ways, [4]handovers{bad, good, good, good}, 3)
	if !slices.Equal(table.notes, want) {
		t.Errorf("%q, want %q", table.notes, want)
	}
	if got, want := strings.Join(table.rows[8], " "), "strict numbers through a follower: longest interruption 600 ms 40 ms 40 ms 40 ms"; got != want {
		t.Errorf("the row of followers is %q, want %q", got, want)
	}
	table = failoverTable(ways, [4]handovers{good, good, bad, bad}, 3)
	for i, want := range []string{"Not met", "Met: 50 ms", "Met: 20 ms", "Met: 40 ms", "Not met**: 600 ms", "Not met**: 600 ms", "Not met"} {
		if !strings.Contains(table.notes[i], want) {
			t.Errorf("%q, want %s", table.notes[i], want)
		}
	}
}

// The time without a number includes failed calls and a call in progress at the end of the probes.
func TestProbesNoteTheLongestGap(t *testing.T) {
	t.Parallel()
	p := probes{seen: map[int64]bool{}, over: make(chan struct{})}
	var n int64
	between := make(chan struct{})
	p.start(t.Context(), func(ctx context.Context) (int64, error) {
		n++
		switch n {
		case 3:
			close(between)
			return 0, pass(ctx, 60*time.Millisecond)
		case 4:
			return 0, errors.New("no leader")
		default:
			return n, nil
		}
	})
	<-between
	if gaps, err := p.end(); err != nil || len(gaps) != 1 || gaps[0] < 60*time.Millisecond {
		t.Errorf("%v, %v, want one gap of at least 60 ms", gaps, err)
	}
	p = probes{seen: map[int64]bool{7: true}, over: make(chan struct{})}
	p.start(t.Context(), func(context.Context) (int64, error) { return 7, nil })
	if _, err := p.end(); err == nil || err.Error() != "number 7 came twice" {
		t.Errorf("%v, want an error about the repeated number 7", err)
	}
}
