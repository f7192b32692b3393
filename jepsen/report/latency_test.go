package report

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestSlotsAreContiguous(t *testing.T) {
	t.Parallel()
	for i := range slots - 1 {
		end := slotEnd(i)
		if slot(end-1) != i || slot(end) != i+1 {
			t.Fatalf("slot %d ends at %v, but slot() before and at the end = %d, %d", i, end, slot(end-1), slot(end))
		}
	}
	if slot(0) != 0 || slot(time.Hour) != slots-1 {
		t.Errorf("slot() of 0 and 1h = %d, %d, want 0, %d", slot(0), slot(time.Hour), slots-1)
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 100, 5000} {
		var all []time.Duration
		var counted, other latencies
		for i := range n {
			d := time.Duration(r.ExpFloat64() * float64(50*time.Millisecond))
			all = append(all, d)
			if i%2 == 0 {
				counted.add(d)
			} else {
				other.add(d)
			}
		}
		counted.merge(&other)
		slices.Sort(all)
		for _, q := range []float64{0.01, 0.5, 0.99, 1} {
			exact := all[max(int(q*float64(n)+0.999999)-1, 0)]
			got := counted.quantile(q)
			if got > counted.most || got < exact || got > exact+exact/8+unit {
				t.Errorf("quantile(%v) of %d = %v, want %v", q, n, got, exact)
			}
		}
		if counted.most != all[n-1] || counted.total != uint64(n) {
			t.Errorf("total, most = %d, %v, want %d, %v", counted.total, counted.most, n, all[n-1])
		}
	}
	if (&latencies{}).quantile(0.5) != 0 {
		t.Error("quantile(0.5) without latencies is not 0, want 0")
	}
}
