package main

import (
	"strings"
	"testing"
	"time"
)

func TestApplicationsWithoutNumbersShowNothing(t *testing.T) {
	t.Parallel()
	if err := everyCame(write(t, raw)); err != nil {
		t.Error(err)
	}
	for _, end := range []string{"x", "("} {
		text := raw + "9900000\tc\t>\t\n9950000\tc\t!\ttimeout\n9960000\tc\t" + end + "\t\n"
		if err := everyCame(write(t, text)); err == nil || !strings.Contains(err.Error(), "c had no number at 10.0 s") {
			t.Errorf("%q: %v", end, err)
		}
	}
}

func TestPausesOutliveTheGuard(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		c := pausing(seed)
		pause := c.faults[0]
		if len(c.faults) != 1 || pause.For < 6*time.Minute || pause.At+pause.For+100*time.Second > c.length {
			t.Fatalf("seed %d: unexpected pause %+v", seed, pause)
		}
		running, taken := apps, 0
		for _, f := range pause.During {
			switch {
			case f.At <= pause.At || f.At >= pause.At+pause.For || f.For != 0:
				t.Errorf("seed %d: %+v is not during the pause", seed, f)
			case f.Kind == addApp:
				running++
			case f.Kind != loseApp || f.App == pause.App || f.App >= running:
				t.Errorf("seed %d: unexpected fault %+v", seed, f)
			}
			if f.At > pause.At+5*time.Minute {
				taken++
			}
		}
		// One of eight machine numbers is unused then. The others take those of the first three applications.
		if taken != 1+apps || len(pause.During)-taken != 4 {
			t.Errorf("seed %d: %d applications start, %d of them after the paused one lost its machine number", seed, len(pause.During), taken)
		}
	}
}
