package snowflake_test

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"
)

func TestPackRefusesMisfits(t *testing.T) {
	full := "time:41,datacenter:5,worker:5,sequence:12"
	for _, c := range []struct {
		fields    string
		parts     snowflake.Parts
		complaint string
	}{
		{full, snowflake.Parts{Tick: -1}, `time -1 is before the epoch of layout "test", expected 0 to 2199023255551`},
		{full, snowflake.Parts{Tick: math.MinInt64}, "before the epoch"},
		{full, snowflake.Parts{Tick: 1 << 41}, "time 2199023255552 does not fit its 41 bits"},
		{full, snowflake.Parts{Datacenter: 32}, "datacenter 32 does not fit its 5 bits"},
		{full, snowflake.Parts{Worker: 32}, `worker 32 does not fit its 5 bits in layout "test", expected 0 to 31`},
		{full, snowflake.Parts{Sequence: 4096}, "sequence 4096 does not fit its 12 bits"},
		{full, snowflake.Parts{Sequence: math.MaxUint64}, "sequence 18446744073709551615"},
		{"time:63", snowflake.Parts{Datacenter: 1}, "datacenter 1 in layout \"test\", which has no such field, expected 0"},
		{"time:63", snowflake.Parts{Worker: 1}, "no such field"},
		{"time:63", snowflake.Parts{Sequence: 1}, "no such field"},
	} {
		id, err := layoutOf(t, c.fields).Pack(c.parts)
		if !errors.Is(err, snowflake.ErrOutOfRange) || !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%s: Pack(%+v) = %d, %v, want ErrOutOfRange with %q", c.fields, c.parts, id, err, c.complaint)
		}
	}
}

func TestUnpackRefusesBitsAboveTheLayout(t *testing.T) {
	l, _ := snowflake.Preset("jssafe")
	if parts, err := l.Unpack(1<<53 - 1); err != nil {
		t.Errorf("Unpack the greatest ID = %+v, %v", parts, err)
	}
	for _, id := range []uint64{1 << 53, math.MaxUint64} {
		parts, err := l.Unpack(id)
		if !errors.Is(err, snowflake.ErrOutOfRange) || !strings.Contains(err.Error(), "expected 0 to 9007199254740991") {
			t.Errorf("Unpack(%d) = %+v, %v, want ErrOutOfRange", id, parts, err)
		}
	}
	if _, err := layoutOf(t, "time:42,worker:22").Unpack(math.MaxUint64); err != nil {
		t.Errorf("Unpack the greatest ID of 64 bits: %v", err)
	}
}

func TestComposeUsesTheLayoutsDatacenter(t *testing.T) {
	l := layoutWith(t, "time:41,datacenter:5,worker:5,sequence:12", func(s *snowflake.Spec) { s.Datacenter = 21 })
	want := snowflake.Parts{Tick: 123_456, Datacenter: 21, Worker: 30, Sequence: 4095}
	if got, err := l.Unpack(l.Compose(want.Tick, want.Worker, want.Sequence)); err != nil || got != want {
		t.Errorf("Unpack(Compose) = %+v, %v, want %+v", got, err, want)
	}
	// The IDs of another cluster have the same layout.
	want.Datacenter = 3
	if id, err := l.Pack(want); err != nil {
		t.Error(err)
	} else if got, err := l.Unpack(id); err != nil || got != want {
		t.Errorf("Unpack(Pack) = %+v, %v, want %+v", got, err, want)
	}
}

// Fresh ticks start at every sequence below the spread, whatever the rhythm of the calls.
func TestStartSequence(t *testing.T) {
	for _, spread := range []uint64{0, 1, 3, 16, 64, 100, 4096} {
		l := layoutWith(t, "time:41,worker:10,sequence:12", func(s *snowflake.Spec) { s.Spread = spread })
		for _, every := range []int64{1, 2, 10, 16, 60, 64, 100, 128, 250, 987, 1000, 1024, 60_000, 3_600_000} {
			starts := make([]bool, max(spread, 1))
			for i := range 20 * len(starts) {
				starts[l.StartSequence(60_000_000_000+int64(i)*every)] = true
			}
			if missing := slices.Index(starts, false); missing >= 0 {
				t.Errorf("spread %d, every %d ticks: sequence %d is not reached", spread, every, missing)
			}
		}
	}
	l := layoutWith(t, "time:63,sequence:1", func(s *snowflake.Spec) { s.Spread = 2 })
	if got := l.StartSequence(math.MaxInt64); got > 1 {
		t.Errorf("StartSequence of the last tick = %d, want 0 or 1", got)
	}
}

func TestPackAndUnpackAreInverse(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		want := drawParts(t, l, "parts")
		id, err := l.Pack(want)
		if err != nil {
			t.Fatalf("Pack(%+v): %v", want, err)
		}
		if got, err := l.Unpack(id); err != nil || got != want {
			t.Fatalf("Unpack(%d) = %+v, %v, want %+v", id, got, err, want)
		}
		if got, want := l.TimeOf(id).UnixMilli(), l.MillisAt(want.Tick); got != want {
			t.Fatalf("TimeOf(%d) is at %d ms, want %d", id, got, want)
		}

		// Compose is Pack with the layout's datacenter, and sequences are a Step apart.
		want.Datacenter = l.Spec().Datacenter
		id, err = l.Pack(want)
		if got := l.Compose(want.Tick, want.Worker, want.Sequence); err != nil || got != id {
			t.Fatalf("Compose(%+v) = %d, Pack says %d, %v", want, got, id, err)
		}
		if next := want.Sequence + 1; next < l.Sequences() {
			if got := l.Compose(want.Tick, want.Worker, next); got != id+l.Step() {
				t.Fatalf("the ID after %d is %d, want %d with step %d", id, got, id+l.Step(), l.Step())
			}
		}
		if start := l.StartSequence(want.Tick); start >= max(1, l.Spec().Spread, l.Sequences()) {
			t.Fatalf("StartSequence(%d) = %d of %d", want.Tick, start, l.Sequences())
		}
	})
}

// Unpack refuses a number, or Pack returns it unchanged.
func TestUnpackAndPackAreInverse(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		id := rapid.Uint64().Draw(t, "id")
		fits := l.Bits() == 64 || id < 1<<l.Bits()
		p, err := l.Unpack(id)
		if fits != (err == nil) {
			t.Fatalf("Unpack(%d) of %d bits: %v", id, l.Bits(), err)
		}
		if !fits {
			return
		}
		if back, err := l.Pack(p); err != nil || back != id {
			t.Fatalf("Pack(%+v) = %d, %v, want %d", p, back, err, id)
		}
	})
}

// IDs sort by their fields from the highest to the lowest: by time first, if time is the highest.
func TestIDsSortByTheirFields(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		a, b := drawParts(t, l, "a"), drawParts(t, l, "b")
		want := 0
		for _, f := range l.Spec().Fields {
			want = cmp.Or(want, cmp.Compare(valueOf(a, f.Field), valueOf(b, f.Field)))
		}
		idA, errA := l.Pack(a)
		idB, errB := l.Pack(b)
		if got := cmp.Compare(idA, idB); errA != nil || errB != nil || got != want {
			t.Fatalf("%+v is %d (%v), %+v is %d (%v): compare as %d, want %d", a, idA, errA, b, idB, errB, got, want)
		}
	})
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 20)
	var sink uint64
	for _, l := range snowflake.Presets() {
		instant := l.MillisAt(1_000_000)
		allocs := testing.AllocsPerRun(100, func() {
			tick := l.TickAt(instant)
			id := l.Compose(tick, 0, l.StartSequence(tick)) + l.Step()
			p, _ := l.Unpack(id)
			sink += p.Sequence
			for _, e := range snowflake.Encodings() {
				sink += uint64(len(e.Append(buf, id)))
			}
		})
		if allocs > 0 {
			t.Errorf("%s: %v allocations, want none", l.Name(), allocs)
		}
	}
}
