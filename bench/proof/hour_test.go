package main

import (
	"testing"
	"time"
)

// TestClocksGoBackToEarlierCalls follows the clocks: each fault begins and ends at a time by the clock at which calls were made an hour
// before.
func TestClocksGoBackToEarlierCalls(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		c := hour(seed)
		if c.faults[0].Kind != passHour || c.faults[0].At != earlier {
			t.Fatalf("seed %d: unexpected fault %+v", seed, c.faults[0])
		}
		end := earlier
		for _, f := range c.faults[1:] {
			if f.Kind.back() != time.Hour || f.At-time.Hour < c.clock || f.At+f.For-time.Hour > c.clock+earlier {
				t.Errorf("seed %d: %+v is not within the earlier calls", seed, f)
			}
			if f.At < end+5*time.Second || f.At+f.For > c.length {
				t.Errorf("seed %d: no time before or after %+v", seed, f)
			}
			end = f.At + f.For
		}
	}
}
