package collision_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/collision"
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

// small draws a layout of at most nine bits, with ticks of 1 ms since 1970.
func small(t *rapid.T, label string) *snowflake.Layout {
	var fields []snowflake.FieldBits
	for _, f := range rapid.Permutation([]snowflake.Field{
		snowflake.FieldTime, snowflake.FieldDatacenter, snowflake.FieldWorker, snowflake.FieldSequence,
	}).Draw(t, label) {
		least := 0
		if f == snowflake.FieldTime {
			least = 1
		}
		if bits := rapid.IntRange(least, 3).Draw(t, f.String()); bits > 0 {
			fields = append(fields, snowflake.FieldBits{Field: f, Bits: uint8(bits)})
		}
	}
	return snowflake.MustNew(snowflake.Spec{Name: "small", Fields: fields, UnitMillis: 1})
}

// TestMeetEqualsEnumeration compares Meet with an enumeration of all IDs of small layouts.
func TestMeetEqualsEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type half struct {
			layout      *snowflake.Layout
			from, until int64
			datacenter  uint64
			fixed       bool
		}
		draw := func(label string) (half, collision.Set) {
			h := half{layout: small(t, label)}
			h.from = rapid.Int64Range(-2, 9).Draw(t, "from")
			h.until = rapid.Int64Range(-2, 9).Draw(t, "until")
			s := collision.All(h.layout, h.from, h.until)
			if h.fixed = rapid.Bool().Draw(t, "fixed"); h.fixed {
				h.datacenter = rapid.Uint64Max(7).Draw(t, "datacenter")
				s = s.With(h.layout, snowflake.FieldDatacenter, h.datacenter)
			}
			return h, s
		}
		holds := func(h half, id uint64) bool {
			p, err := h.layout.Unpack(id)
			if err != nil || p.Tick < h.from || p.Tick > h.until {
				return false
			}
			has := false
			for _, f := range h.layout.Spec().Fields {
				has = has || f.Field == snowflake.FieldDatacenter
			}
			return !h.fixed || !has || p.Datacenter == h.datacenter
		}
		a, setA := draw("a")
		b, setB := draw("b")
		var least, greatest uint64
		want := false
		for id := range uint64(1 << 12) {
			if holds(a, id) && holds(b, id) {
				if !want {
					least = id
				}
				greatest, want = id, true
			}
		}
		gotLeast, gotGreatest, got := collision.Meet(setA, setB)
		if got != want || gotLeast != least || gotGreatest != greatest {
			t.Fatalf("Meet(%+v, %+v) = %d, %d, %t, want %d, %d, %t", a, b, gotLeast, gotGreatest, got, least, greatest, want)
		}
	})
}

// TestTwitterMeetsDefault knows the case that people walk into: IDs that the Twitter epoch dates to June 2019 are, in the
// default layout, IDs of July 2033.
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
