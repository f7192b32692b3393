package siege

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReportJudgesEachProtocol(t *testing.T) {
	t.Parallel()
	r := Report{
		Least: LeastShare,
		Protocols: []Protocol{
			{Name: "kept", Rates: [2]float64{100, 80}},
			{Name: "slow", Rates: [2]float64{100, 79}},
			{Name: "failed", Rates: [2]float64{100, 100}, Failed: 1},
		},
		Time: 10 * time.Second, Acts: map[string]uint64{"flood": 3, "drip": 1}, Addresses: 16, Processor: 2 * time.Second,
	}
	if missing := r.Missing(); len(missing) > 0 {
		t.Errorf("Missing() = %v, want an empty list", missing)
	}
	if broken := strings.Join(r.Broken(), "; "); broken != "slow: kept 79.0 % of the rate, expected at least 80 %; failed: 1 calls failed" {
		t.Errorf("Broken() = %s, want one slow and one failed protocol", broken)
	}
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"slow    100", "79.0 %", "4 acts in 10 s from 16 addresses, using 0.20 of a processor", "acts: flood 3, drip 1"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("Print() wrote %q, want %q in it", b.String(), part)
		}
	}
}

func TestReportMissingListsActsAndProtocols(t *testing.T) {
	t.Parallel()
	r := Report{Protocols: []Protocol{{Name: "dead"}, {Name: "alive", Rates: [2]float64{1, 1}}}, Acts: map[string]uint64{"flood": 0, "drip": 1}}
	if missing := r.Missing(); !slices.Equal(missing, []string{"dead", "flood"}) {
		t.Errorf("Missing() = %v, want dead and flood", missing)
	}
}

func TestTallyCountsFailuresOfEveryPhase(t *testing.T) {
	t.Parallel()
	var c tally
	failure := errors.New("failed")
	c.count(Calm, Calm, time.Second, nil)
	c.count(Hostile, between, 3*time.Second, nil) // not part of a rate
	c.count(Hostile, between, time.Second, failure)
	c.count(between, Hostile, time.Second, failure)
	if c.done[Calm].Load() != 1 || c.done[Hostile].Load() != 0 || c.failed[Hostile].Load() != 1 || c.failed[between].Load() != 1 ||
		c.slowest[Hostile].Load() != int64(3*time.Second) {
		t.Errorf("tally = %+v, want one call done, two failed and the slowest of 3s", &c)
	}
}
