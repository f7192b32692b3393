package collision_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/collision"
	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"
)

func preset(t *testing.T, name string) *snowflake.Layout {
	t.Helper()
	l, ok := snowflake.Preset(name)
	if !ok {
		t.Fatalf("no preset %q", name)
	}
	return l
}

func ms(t *testing.T, stamp string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMilli()
}

// system is a system of few bits, described apart from package snowflake.
type system struct {
	fields      []snowflake.FieldBits
	unit, epoch int64
	from, until int64  // Unix ms at which the system issues IDs, both included
	datacenter  uint64 // value in all IDs if fixed
	fixed       bool
}

func (s system) layout() *snowflake.Layout {
	return snowflake.MustNew(snowflake.Spec{Name: "small", Fields: s.fields, UnitMillis: s.unit, EpochMillis: s.epoch})
}

func (s system) set() collision.Set {
	l := s.layout()
	set := collision.All(l, s.from, s.until)
	if s.fixed {
		set = set.With(l, snowflake.FieldDatacenter, s.datacenter)
	}
	return set
}

// ids enumerates the IDs of all milliseconds, and reports whether the time field is exhausted. From then on, the system both
// begins again at tick 0 and lets the time run over.
func (s system) ids() (ids map[uint64]bool, exhausted bool) {
	ids = map[uint64]bool{}
	for at := max(s.from, s.epoch); at <= s.until; at++ {
		partial := map[uint64]bool{0: true}
		var shift uint8
		for _, f := range slices.Backward(s.fields) {
			values := make([]uint64, 0, 1<<f.Bits)
			switch {
			case f.Field == snowflake.FieldTime:
				tick := uint64((at - s.epoch) / s.unit)
				values = append(values, tick, tick%(1<<f.Bits))
				exhausted = exhausted || tick>>f.Bits > 0
			case f.Field == snowflake.FieldDatacenter && s.fixed:
				if s.datacenter>>f.Bits == 0 {
					values = append(values, s.datacenter)
				}
			default:
				for v := range uint64(1) << f.Bits {
					values = append(values, v)
				}
			}
			longer := map[uint64]bool{}
			for id := range partial {
				for _, v := range values {
					longer[id|v<<shift] = true
				}
			}
			partial, shift = longer, shift+f.Bits
		}
		maps.Copy(ids, partial)
	}
	return ids, exhausted
}

func drawSystem(t *rapid.T, label string) system {
	s := system{
		unit: rapid.Int64Range(1, 3).Draw(t, label+" unit"), epoch: rapid.Int64Range(-4, 4).Draw(t, "epoch"),
		from: rapid.Int64Range(-6, 12).Draw(t, "from"), datacenter: rapid.Uint64Max(7).Draw(t, "datacenter"), fixed: rapid.Bool().Draw(t, "fixed"),
	}
	s.until = rapid.Int64Range(s.from, 12).Draw(t, "until")
	for _, f := range rapid.Permutation([]snowflake.Field{
		snowflake.FieldTime, snowflake.FieldDatacenter, snowflake.FieldWorker, snowflake.FieldSequence,
	}).Draw(t, "order") {
		least := 0
		if f == snowflake.FieldTime {
			least = 1
		}
		if bits := rapid.IntRange(least, 3).Draw(t, f.String()); bits > 0 {
			s.fields = append(s.fields, snowflake.FieldBits{Field: f, Bits: uint8(bits)})
		}
	}
	return s
}

// TestMeetEqualsEnumeration compares Meet and Has with an enumeration of all IDs of two small systems. If the time field of a
// system is exhausted, its set may have more IDs than the system, but never fewer.
func TestMeetEqualsEnumeration(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		a, b := drawSystem(t, "a"), drawSystem(t, "b")
		idsA, exhaustedA := a.ids()
		idsB, exhaustedB := b.ids()
		setA, setB := a.set(), b.set()
		for id := range uint64(1 << 12) {
			if got, want := setA.Has(id), idsA[id]; got != want && (want || !exhaustedA) {
				t.Fatalf("Has(%d) = %t in %+v, want %t", id, got, a, want)
			}
		}
		var least, greatest uint64
		want := false
		for _, id := range slices.Sorted(maps.Keys(idsA)) {
			if idsB[id] {
				if !want {
					least = id
				}
				greatest, want = id, true
			}
		}
		gotLeast, gotGreatest, got := collision.Meet(setA, setB)
		if exhaustedA || exhaustedB {
			if want && (!got || gotLeast > least || gotGreatest < greatest) {
				t.Fatalf("Meet(%+v, %+v) = %d, %d, %t, want at least %d to %d", a, b, gotLeast, gotGreatest, got, least, greatest)
			}
			return
		}
		if got != want || gotLeast != least || gotGreatest != greatest {
			t.Fatalf("Meet(%+v, %+v) = %d, %d, %t, want %d, %d, %t", a, b, gotLeast, gotGreatest, got, least, greatest, want)
		}
	})
}

// TestTwitterMeetsDefault knows the case that people walk into: IDs that the Twitter epoch dates to June 2019 are, in the
// default layout, IDs of July and August 2033.
func TestTwitterMeetsDefault(t *testing.T) {
	old := collision.All(preset(t, "twitter"), ms(t, "2010-11-05T00:00:00Z"), ms(t, "2019-06-30T00:00:00Z"))
	own := snowflake.Default()
	least, greatest, ok := collision.Meet(old, collision.Issued(own, ms(t, "2026-11-23T00:00:00Z")))
	if !ok {
		t.Fatal("Meet() found no shared ID")
	}
	if got, want := own.TimeOf(least).Format(time.DateOnly), "2026-11-23"; got != want {
		t.Errorf("first shared ID dates to %s, want %s", got, want)
	}
	if got, want := own.TimeOf(greatest).Format("2006-01"), "2033-08"; got != want {
		t.Errorf("last shared ID dates to %s, want %s", got, want)
	}
}

func TestSameLayoutAfterTheEndNeverMeets(t *testing.T) {
	twitter := preset(t, "twitter")
	end := ms(t, "2026-11-23T00:00:00Z")
	old := collision.All(twitter, math.MinInt64, end)
	if id, _, ok := collision.Meet(old, collision.Issued(twitter, end+1)); ok {
		t.Errorf("Meet() after the end = %d, want none", id)
	}
	if _, _, ok := collision.Meet(old, collision.Issued(twitter, end)); !ok {
		t.Error("Meet() in the last millisecond found none, want the IDs of that millisecond")
	}
}

func TestDatacenterIsAFence(t *testing.T) {
	twitter := preset(t, "twitter")
	spec := twitter.Spec()
	spec.Datacenter = 3
	own := collision.Issued(snowflake.MustNew(spec), 0)
	running := collision.All(twitter, math.MinInt64, math.MaxInt64)
	if id, _, ok := collision.Meet(running.With(twitter, snowflake.FieldDatacenter, 1), own); ok {
		t.Errorf("Meet() of datacenters 1 and 3 = %d, want none", id)
	}
	if _, _, ok := collision.Meet(running, own); !ok {
		t.Error("Meet() with any datacenter found none")
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		a, b            collision.Set
		least, greatest uint64
		ok              bool
	}{
		{collision.Between(5, 9), collision.Between(8, 20), 8, 9, true},
		{collision.Between(5, 9), collision.Between(10, 20), 0, 0, false},
		{collision.Between(9, 5), collision.Set{}, 0, 0, false},
		{collision.Between(0, math.MaxUint64), collision.Set{}, 0, math.MaxUint64, true},
	} {
		if least, greatest, ok := collision.Meet(c.a, c.b); least != c.least || greatest != c.greatest || ok != c.ok {
			t.Errorf("Meet(%v, %v) = %d, %d, %t, want %d, %d, %t", c.a, c.b, least, greatest, ok, c.least, c.greatest, c.ok)
		}
	}
}

// TestMeetIssuedEqualsEnumeration compares MeetIssued with an enumeration, for layouts whose time is any of the fields.
func TestMeetIssuedEqualsEnumeration(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		b := drawSystem(t, "b")
		l := b.layout()
		b.until, b.fixed, b.datacenter = l.ExhaustsAt()-1, true, 0
		if b.until < b.from {
			return
		}
		low := rapid.Uint64Max(1<<l.Bits()-1).Draw(t, "low")
		high := rapid.Uint64Range(low, 1<<l.Bits()-1).Draw(t, "high")
		own, _ := b.ids()
		least, greatest, want := int64(math.MaxInt64), int64(math.MinInt64), false
		for id := range own {
			if id >= low && id <= high {
				at := l.TimeOf(id).UnixMilli()
				least, greatest, want = min(least, at), max(greatest, at), true
			}
		}
		first, last, got := collision.MeetIssued(collision.Between(low, high), l, b.from)
		if got != want {
			t.Fatalf("MeetIssued(%d to %d, %+v) = %t, want %t", low, high, b, got, want)
		}
		if !got {
			return
		}
		for _, id := range []uint64{first, last} {
			if id < low || id > high || !own[id] {
				t.Fatalf("MeetIssued(%d to %d, %+v): %d is not in both sets", low, high, b, id)
			}
		}
		if f, g := l.TimeOf(first).UnixMilli(), l.TimeOf(last).UnixMilli(); f != least || g != greatest {
			t.Fatalf("MeetIssued(%d to %d, %+v): from %d to %d, want %d to %d", low, high, b, f, g, least, greatest)
		}
	})
}

// TestPresetsMeet shows that IDs of two presets can be equal if both systems continue, so they belong into different tables. Only
// the IDs of jssafe are too small for presets of 63 bits and more, until these have run for centuries.
func TestPresetsMeet(t *testing.T) {
	now := ms(t, "2026-11-29T00:00:00Z")
	for _, a := range snowflake.Presets() {
		for _, b := range snowflake.Presets() {
			if a.CanLease(now) != nil || b.CanLease(now) != nil {
				continue
			}
			large := func(other string) bool { return !slices.Contains([]string{"cap", "jssafe", "yitter"}, other) }
			apart := a.Name() == "jssafe" && large(b.Name()) || b.Name() == "jssafe" && large(a.Name())
			if _, _, ok := collision.MeetIssued(collision.Issued(a, now), b, now); ok == apart {
				t.Errorf("%s and %s meet: %t, want %t", a.Name(), b.Name(), ok, !apart)
			}
		}
	}
}
