package snowflake_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"
)

func clockOf(t testing.TB, epoch, unit int64) *snowflake.Layout {
	t.Helper()
	return layoutWith(t, "time:63", func(s *snowflake.Spec) { s.EpochMillis, s.UnitMillis = epoch, unit })
}

func TestTickAt(t *testing.T) {
	for _, c := range []struct{ epoch, unit, at, want int64 }{
		{0, 1, 0, 0},
		{0, 1, -1, -1},
		{1000, 1, 1005, 5},
		{1000, 1, 995, -5},
		{-1000, 1, -1000, 0},
		{-1000, 10, 0, 100},
		{1000, 10, 1009, 0},
		{1000, 10, 1010, 1},
		{1000, 10, 999, -1},
		{1000, 10, 990, -1},
		{1000, 10, 989, -2},
		{math.MinInt64, 1, math.MinInt64, 0},
		{math.MinInt64, 1, -1, math.MaxInt64},
		{math.MinInt64, 1, 0, math.MaxInt64},
		{math.MinInt64, 1, math.MaxInt64, math.MaxInt64},
		{math.MinInt64, 2, math.MaxInt64, math.MaxInt64},
		{math.MinInt64, 4, math.MaxInt64, 1<<62 - 1},
		{math.MaxInt64, 1, -1, math.MinInt64},
		{math.MaxInt64, 1, math.MinInt64, math.MinInt64},
		{math.MaxInt64, 4, math.MinInt64, -1 << 62},
		{1, 1, math.MinInt64, math.MinInt64},
		{0, 1, math.MinInt64, math.MinInt64},
	} {
		if got := clockOf(t, c.epoch, c.unit).TickAt(c.at); got != c.want {
			t.Errorf("epoch %d, unit %d: TickAt(%d) = %d, want %d", c.epoch, c.unit, c.at, got, c.want)
		}
	}
}

func TestMillisAt(t *testing.T) {
	for _, c := range []struct{ epoch, unit, tick, want int64 }{
		{1000, 10, 0, 1000},
		{1000, 10, 7, 1070},
		{1000, 10, -7, 930},
		{-1000, 10, 7, -930},
		{0, 1, math.MaxInt64, math.MaxInt64},
		{0, 1, math.MinInt64, math.MinInt64},
		{1, 1, math.MaxInt64, math.MaxInt64},
		{-1, 1, math.MaxInt64, math.MaxInt64 - 1},
		{-1, 1, math.MinInt64, math.MinInt64},
		{1, 1, math.MinInt64, math.MinInt64 + 1},
		{math.MinInt64, 1, math.MaxInt64, -1},
		{math.MaxInt64, 1, math.MinInt64, -1},
		{math.MinInt64, 2, math.MaxInt64, math.MaxInt64 - 1},
		{math.MinInt64, 3, math.MaxInt64, math.MaxInt64},
		{0, 3_600_000, math.MaxInt64, math.MaxInt64},
		{0, 3_600_000, math.MinInt64, math.MinInt64},
		{math.MinInt64, 3_600_000, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, 3_600_000, math.MinInt64, math.MinInt64},
	} {
		if got := clockOf(t, c.epoch, c.unit).MillisAt(c.tick); got != c.want {
			t.Errorf("epoch %d, unit %d: MillisAt(%d) = %d, want %d", c.epoch, c.unit, c.tick, got, c.want)
		}
	}
}

func TestExhaustsAt(t *testing.T) {
	for _, c := range []struct {
		fields            string
		epoch, unit, want int64
	}{
		{"time:41", 0, 1, 1 << 41},
		{"time:41", -5, 10, 10<<41 - 5},
		{"time:63", -1, 1, math.MaxInt64}, // exactly the greatest int64
		{"time:63", 0, 1, math.MaxInt64},
		{"time:63", math.MinInt64, 1, 0},
		{"time:63", math.MaxInt64, 3_600_000, math.MaxInt64},
	} {
		l := layoutWith(t, c.fields, func(s *snowflake.Spec) { s.EpochMillis, s.UnitMillis = c.epoch, c.unit })
		if got := l.ExhaustsAt(); got != c.want {
			t.Errorf("%s, epoch %d, unit %d: ExhaustsAt() = %d, want %d", c.fields, c.epoch, c.unit, got, c.want)
		}
	}
}

func TestTimeOf(t *testing.T) {
	l := snowflake.Default()
	got := l.TimeOf(l.Compose(1, 1023, 4095))
	if want := time.Date(2025, 1, 1, 0, 0, 0, 1e6, time.UTC); !got.Equal(want) || got.Location() != time.UTC {
		t.Errorf("TimeOf = %v, want %v", got, want)
	}
	// The bit above the layout is not part of the time.
	if got := l.TimeOf(1 << 63); !got.Equal(time.UnixMilli(l.Spec().EpochMillis)) {
		t.Errorf("TimeOf with a bit above the layout = %v, want the epoch", got)
	}
	if got := clockOf(t, 0, 3_600_000).TimeOf(1<<63 - 1); got.UnixMilli() != math.MaxInt64 {
		t.Errorf("TimeOf the end of time = %v (%d ms), want saturation", got, got.UnixMilli())
	}
}

// Layouts of other systems may have several ticks in 1 ms. The tick of an instant is the first one of its millisecond.
func TestTicksWithinMilliseconds(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		per := rapid.Int64Range(2, 1_000_000).Draw(t, "per")
		epoch := rapid.Int64Range(-1<<42, 1<<42).Draw(t, "epoch")
		at := rapid.Int64Range(-1<<42, 1<<42).Draw(t, "at")
		l, err := snowflake.New(snowflake.Spec{
			Name: "test", UnitMillis: 1, TicksPerMilli: per, EpochMillis: epoch,
			Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 63}},
		})
		if err != nil {
			t.Fatal(err)
		}
		tick := l.TickAt(at)
		if want := (at - epoch) * per; tick != want {
			t.Fatalf("TickAt(%d) = %d, want %d", at, tick, want)
		}
		for tick, want := range map[int64]int64{tick: at, tick + per - 1: at, tick + per: at + 1, tick - 1: at - 1} {
			if got := l.MillisAt(tick); got != want {
				t.Fatalf("MillisAt(%d) = %d, want %d", tick, got, want)
			}
		}
	})
	short := layoutWith(t, "time:41,worker:10,sequence:12", func(s *snowflake.Spec) { s.TicksPerMilli = 100 })
	if err := short.CanIssue(short.Spec().EpochMillis); err == nil || !strings.Contains(err.Error(), "100 ticks per ms") {
		t.Errorf("CanIssue() = %v", err)
	}
	if _, err := short.UUID(1<<30, snowflake.UUIDTag{}); !errors.Is(err, snowflake.ErrOutOfRange) {
		t.Errorf("UUID() = %v", err)
	}
	if _, err := short.FromUUID(snowflake.UUID{6: 0x70, 8: 0x80}); !errors.Is(err, snowflake.ErrOutOfRange) || !strings.Contains(err.Error(), "shorter than 1 ms") {
		t.Errorf("FromUUID() = %v", err)
	}
	for _, wrong := range []snowflake.Spec{{UnitMillis: 1, TicksPerMilli: 1}, {UnitMillis: 2, TicksPerMilli: 2}, {UnitMillis: 1, TicksPerMilli: -1}, {UnitMillis: 1, TicksPerMilli: 1_000_001}} {
		wrong.Name, wrong.Fields = "test", short.Spec().Fields
		if _, err := snowflake.New(wrong); !errors.Is(err, snowflake.ErrInvalidLayout) {
			t.Errorf("New(%+v) = %v", wrong, err)
		}
	}
}

// The reference computes with integers that do not overflow.
func TestTicksAgreeWithBigIntegers(t *testing.T) {
	saturate := func(v *big.Int) int64 {
		if v.IsInt64() {
			return v.Int64()
		}
		if v.Sign() < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	seed.Check(t, func(t *rapid.T) {
		epoch := rapid.Int64().Draw(t, "epoch")
		unit := rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(1, 3_600_000)).Draw(t, "unit")
		bits := rapid.Uint8Range(1, 63).Draw(t, "bits")
		value := rapid.Int64().Draw(t, "value")
		l, err := snowflake.New(snowflake.Spec{
			Name: "test", UnitMillis: unit, EpochMillis: epoch,
			Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: bits}},
		})
		if err != nil {
			t.Fatal(err)
		}
		bigEpoch, bigUnit := big.NewInt(epoch), big.NewInt(unit)

		tick := new(big.Int).Sub(big.NewInt(value), bigEpoch)
		tick.Div(tick, bigUnit) // Euclidean, which for a positive divisor rounds down
		if got, want := l.TickAt(value), saturate(tick); got != want {
			t.Fatalf("TickAt(%d) = %d, want %d", value, got, want)
		}
		millisAt := func(tick *big.Int) int64 {
			ms := new(big.Int).Mul(tick, bigUnit)
			return saturate(ms.Add(ms, bigEpoch))
		}
		if got, want := l.MillisAt(value), millisAt(big.NewInt(value)); got != want {
			t.Fatalf("MillisAt(%d) = %d, want %d", value, got, want)
		}
		if got, want := l.ExhaustsAt(), millisAt(new(big.Int).Lsh(big.NewInt(1), uint(bits))); got != want {
			t.Fatalf("ExhaustsAt() = %d, want %d", got, want)
		}
	})
}
