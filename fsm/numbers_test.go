package fsm

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
)

// edges are the numbers at which arithmetic may overflow.
var edges = []int64{
	math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 2, -1 << 62, -3, -2, -1, 0, 1, 2, 3, 1 << 62, math.MaxInt64 - 2, math.MaxInt64 - 1, math.MaxInt64,
}

func bigCapacity(from, increment, low, high int64) *big.Int {
	if from < low || from > high {
		return big.NewInt(0)
	}
	distance := new(big.Int).Sub(big.NewInt(high), big.NewInt(from))
	if increment < 0 {
		distance.Sub(big.NewInt(from), big.NewInt(low))
	}
	distance.Div(distance, new(big.Int).Abs(big.NewInt(increment)))
	return distance.Add(distance, big.NewInt(1))
}

func checkNumbers(t interface{ Fatalf(string, ...any) }, from, increment, low, high int64) {
	want, most := bigCapacity(from, increment, low, high), new(big.Int).SetUint64(math.MaxUint64)
	if want.Cmp(most) > 0 {
		want = most
	}
	n := capacity(from, increment, low, high)
	if new(big.Int).SetUint64(n).Cmp(want) != 0 {
		t.Fatalf("capacity(%d, %d, %d, %d) = %d, want %v", from, increment, low, high, n, want)
	}
	if n > 0 {
		last := new(big.Int).Mul(new(big.Int).SetUint64(n-1), big.NewInt(increment))
		last.Add(last, big.NewInt(from))
		if got := numberAt(from, n-1, increment); !last.IsInt64() || got != last.Int64() || got < low || got > high {
			t.Fatalf("number %d from %d on by %d is %d, want %v", n-1, from, increment, got, last)
		}
	}
	exact := new(big.Int).Add(big.NewInt(from), big.NewInt(increment))
	if following, ok := after(from, increment); ok != exact.IsInt64() || ok && following != exact.Int64() {
		t.Fatalf("after(%d, %d) = %d, %v, want %v", from, increment, following, ok, exact)
	}
}

func TestNumbers(t *testing.T) {
	for _, from := range edges {
		for _, increment := range edges {
			for _, low := range edges {
				for _, high := range edges {
					if increment != 0 && low <= high {
						checkNumbers(t, from, increment, low, high)
					}
				}
			}
		}
	}
	seed.Check(t, func(t *rapid.T) {
		low, high := rapid.Int64().Draw(t, "low"), rapid.Int64().Draw(t, "high")
		increment := rapid.Int64().Filter(func(n int64) bool { return n != 0 }).Draw(t, "increment")
		checkNumbers(t, rapid.Int64().Draw(t, "from"), increment, min(low, high), max(low, high))
	})
}

// TestHull compares with sets of small numbers.
func TestHull(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		small := rapid.Int64Range(-6, 6)
		low, high, from := small.Draw(t, "low"), small.Draw(t, "high"), small.Draw(t, "from")
		least, most := small.Draw(t, "min"), small.Draw(t, "max")
		increment := rapid.SampledFrom([]int64{-1, 1}).Draw(t, "increment")
		h := hull{}
		if low <= high {
			h = h.add(high).add(low)
		}
		meets, behind := false, true
		for n := low; n <= high; n++ {
			ahead := (n-from)*increment >= 0
			behind = behind && !ahead
			meets = meets || ahead && from >= least && from <= most && n >= least && n <= most
		}
		if h.meets(from, increment, least, most) != meets || h.behind(from, increment) != behind {
			t.Fatalf("%+v, %d by %d in [%d, %d]: meets %v, behind %v", h, from, increment, least, most, !meets, !behind)
		}
		for n := int64(-8); n < 8; n++ {
			if h.holds(n) != (n >= low && n <= high) {
				t.Fatalf("%+v holds %d", h, n)
			}
		}
	})
	for _, n := range edges {
		for _, increment := range []int64{-1, 1} {
			h := trace(n, increment)
			room := increment > 0 && n > math.MinInt64 || increment < 0 && n < math.MaxInt64
			if !h.some || h.low != h.high || room != h.behind(n, increment) || !room && h.low != n {
				t.Errorf("trace(%d, %d) = %+v", n, increment, h)
			}
		}
	}
}
