package snowflake_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"
)

var someTag = snowflake.NewUUIDTag("3cd843fa-4a01-4215-810b-7a327d70c7de", "default")

// bitsOf returns bits [from, from+n) of a UUID, counted as in RFC 9562: from 0, the highest.
func bitsOf(u snowflake.UUID, from, n int) (value uint64) {
	for i := from; i < from+n; i++ {
		value = value<<1 | uint64(u[i/8]>>(7-i%8)&1)
	}
	return value
}

// The example of RFC 9562, appendix A.6, with the fields at the places of section 5.7.
func TestUUIDOfTheRFC(t *testing.T) {
	u, err := snowflake.ParseUUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
	if err != nil {
		t.Fatal(err)
	}
	l := snowflake.MustNew(snowflake.Spec{Name: "rfc", UnitMillis: 1, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 48}, {Field: snowflake.FieldSequence, Bits: 12}}})
	id, err := l.FromUUID(u)
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Unpack(id)
	if want := (snowflake.Parts{Tick: 0x017F22E279B0, Sequence: 0xCC3}); err != nil || p != want {
		t.Errorf("%+v, %v, want %+v", p, err, want)
	}
}

func TestUUIDOfTheDefaultLayout(t *testing.T) {
	l := snowflake.Default()
	id, err := l.Pack(snowflake.Parts{Tick: 31_536_000_000, Worker: 0b1000000001, Sequence: 0b100000000001})
	if err != nil {
		t.Fatal(err)
	}
	u, err := l.UUID(id, snowflake.UUIDTag{})
	if err != nil {
		t.Fatal(err)
	}
	// 2026-01-01, version 7, worker and 2 bits of the sequence, variant and 10 bits of the sequence, no tag.
	if want := "019b76da-a800-7806-8010-000000000000"; u.String() != want {
		t.Errorf("%v, want %s", u, want)
	}
	tagged, err := l.UUID(id, someTag)
	if err != nil {
		t.Fatal(err)
	}
	// Fixed, because the UUIDs of issued IDs must never change.
	if want := "019b76da-a800-7806-8010-c885bc185cb8"; tagged.String() != want {
		t.Errorf("%v, want %s", tagged, want)
	}
}

func anyLayout(t *rapid.T) *snowflake.Layout {
	return rapid.OneOf(rapid.SampledFrom(snowflake.Presets()), rapid.Custom(drawLayout)).Draw(t, "layout")
}

func drawTag(t *rapid.T) snowflake.UUIDTag {
	return snowflake.NewUUIDTag(rapid.String().Draw(t, "cluster"), rapid.String().Draw(t, "name"))
}

func TestUUIDBackAndForth(t *testing.T) {
	var fitted int
	seed.Check(t, func(t *rapid.T) {
		l := anyLayout(t)
		id, err := l.Pack(drawParts(t, l, "ID"))
		if err != nil {
			t.Fatal(err)
		}
		u, err := l.UUID(id, drawTag(t))
		ms := l.TimeOf(id).UnixMilli()
		if fits := ms >= 0 && ms < 1<<48; fits != (err == nil) {
			t.Fatalf("%d ms: %v", ms, err)
		}
		if err != nil {
			if !errors.Is(err, snowflake.ErrOutOfRange) {
				t.Fatal(err)
			}
			return
		}
		fitted++
		if bitsOf(u, 0, 48) != uint64(ms) || bitsOf(u, 48, 4) != 7 || bitsOf(u, 64, 2) != 0b10 || u.Version() != 7 {
			t.Fatalf("%v of %d ms", u, ms)
		}
		if back, err := l.FromUUID(u); err != nil || back != id {
			t.Fatalf("%d is %v and comes back as %d, %v", id, u, back, err)
		}
		for _, text := range []string{u.String(), strings.ToUpper(u.String())} {
			if back, err := snowflake.ParseUUID(text); err != nil || back != u {
				t.Fatalf("%v comes back as %v, %v", u, back, err)
			}
		}
	})
	if fitted == 0 {
		t.Error("no ID fitted")
	}
}

// UUIDs of a layout sort as its IDs do, so those of a lane do too. If time is not the highest field, they still
// sort by time.
func TestUUIDsSortAsIDs(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		l, tag := anyLayout(t), drawTag(t)
		one, other := drawParts(t, l, "one"), drawParts(t, l, "other")
		if rapid.Bool().Draw(t, "near") {
			other.Tick = one.Tick
			if rapid.Bool().Draw(t, "one lane") {
				other.Worker, other.Datacenter = one.Worker, one.Datacenter
			}
		}
		a, err := l.Pack(one)
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Pack(other)
		if err != nil {
			t.Fatal(err)
		}
		u, err1 := l.UUID(a, tag)
		v, err2 := l.UUID(b, tag)
		if err1 != nil || err2 != nil {
			return // UUIDs cannot hold this time
		}
		order, text := bytes.Compare(u[:], v[:]), strings.Compare(u.String(), v.String())
		if text != order {
			t.Fatalf("%v and %v: %d as bytes, %d as text", u, v, order, text)
		}
		ids := compare(a, b)
		if l.Spec().Fields[0].Field != snowflake.FieldTime && one.Tick != other.Tick {
			ids = compare(uint64(one.Tick), uint64(other.Tick))
		}
		if order != ids {
			t.Fatalf("%d and %d are %d, %v and %v are %d", a, b, ids, u, v, order)
		}
	})
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestUUIDsDiffer(t *testing.T) {
	l := snowflake.Default()
	seen := make(map[snowflake.UUID]bool)
	for tick := range int64(250) {
		for worker := range uint64(4) {
			for sequence := range uint64(1000) {
				u, err := l.UUID(l.Compose(tick, worker, sequence), someTag)
				if err != nil {
					t.Fatal(err)
				}
				seen[u] = true
			}
		}
	}
	if len(seen) != 1_000_000 {
		t.Errorf("%d different UUIDs of 1000000 IDs", len(seen))
	}
}

// UUIDs of one ID differ between clusters and between layouts.
func TestUUIDTagsDiffer(t *testing.T) {
	l := snowflake.Default()
	id := l.Compose(1, 2, 3)
	seen := make(map[snowflake.UUID]string)
	for _, tag := range [][2]string{{"", ""}, {"a", "b"}, {"b", "a"}, {"ab", ""}, {"", "ab"}, {"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"a", "b\x00"}} {
		u, err := l.UUID(id, snowflake.NewUUIDTag(tag[0], tag[1]))
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[u]; twice {
			t.Errorf("%q has the UUID of %q", tag, before)
		}
		seen[u] = tag[0] + "," + tag[1]
		// The tag is in the lowest 52 bits only.
		plain, _ := l.UUID(id, snowflake.UUIDTag{})
		if bitsOf(u, 0, 76) != bitsOf(plain, 0, 76) {
			t.Errorf("%v and %v differ above the tag", u, plain)
		}
	}
}

// Every bit of the tag is used: over many tags, half of each bit's values are ones.
func TestUUIDTagsFillTheirBits(t *testing.T) {
	l := snowflake.MustNew(snowflake.Spec{Name: "bare", UnitMillis: 1, Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 41}}})
	const n = 10_000
	var ones [128]int
	for i := range n {
		u, err := l.UUID(0, snowflake.NewUUIDTag(strings.Repeat("c", i%100), strings.Repeat("l", i/100)))
		if err != nil {
			t.Fatal(err)
		}
		for bit := range ones {
			ones[bit] += int(bitsOf(u, bit, 1))
		}
	}
	for bit := 52; bit < 128; bit++ {
		if bit != 64 && bit != 65 && math.Abs(float64(ones[bit])-n/2) > 6*math.Sqrt(n)/2 {
			t.Errorf("bit %d is set in %d of %d tags", bit, ones[bit], n)
		}
	}
}

func TestUUIDRefusals(t *testing.T) {
	baidu, _ := snowflake.Preset("baidu")
	for _, c := range []struct {
		layout     *snowflake.Layout
		uuid, want string
	}{
		{snowflake.Default(), "019b76da-a800-4806-8010-000000000000", "has version 4 and variant 2"},
		{snowflake.Default(), "019b76da-a800-7806-c010-000000000000", "has version 7 and variant 3"},
		{snowflake.Default(), "019b76da-a800-7806-0010-000000000000", "has version 7 and variant 0"},
		{snowflake.Default(), "00000000-0000-7000-8000-000000000000", "is from 1970-01-01T00:00:00.000Z, expected 2025-01-01T00:00:00.000Z to before 2094-09-07T15:47:35.552Z"},
		{snowflake.Default(), "ffffffff-ffff-7000-8000-000000000000", "is from 10889-08-02T05:31:50.655Z, expected"},
		{baidu, "018bcfe5-6801-7000-8000-000000000000", "1 ms after the start of a tick, expected the start of a tick of 1000 ms"},
	} {
		u, err := snowflake.ParseUUID(c.uuid)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.layout.FromUUID(u); !errors.Is(err, snowflake.ErrOutOfRange) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.uuid, err, c.want)
		}
	}
	// A time before a layout's epoch is not a tick far in its future.
	long := snowflake.MustNew(snowflake.Spec{Name: "long", UnitMillis: 2, EpochMillis: 1000, Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 63}}})
	if id, err := long.FromUUID(snowflake.UUID{6: 0x70, 8: 0x80}); !errors.Is(err, snowflake.ErrOutOfRange) {
		t.Errorf("1 s before the epoch: %d, %v", id, err)
	}
	early := snowflake.MustNew(snowflake.Spec{Name: "early", UnitMillis: 1000, EpochMillis: -1, Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 41}}})
	for id, want := range map[uint64]string{
		0:       "is from 1969-12-31T23:59:59.999Z, which is not in a UUID",
		1 << 40: "which is not in a UUID of version 7, expected 1970-01-01T00:00:00.000Z to before 10889-08-02T05:31:50.656Z",
		1 << 41: "has bits above",
	} {
		if _, err := early.UUID(id, someTag); !errors.Is(err, snowflake.ErrOutOfRange) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", id, err, want)
		}
	}
}

func TestParseUUIDRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                           "has 0 bytes",
		"019b76daa800780680100000000000000":          "has 33 bytes",
		"{019b76da-a800-7806-8010-00000000000}":      "has 37 bytes",
		"019b76da-a800-7806-8010-00000000000g":       `"g" at byte 35`,
		"019b76da-a800-7806-8010-0000000000 0":       `" " at byte 34`,
		"019b76da-a800-7806-8010-000000000-00":       `"-" at byte 33`,
		"019b76da0a800-7806-8010-000000000000":       `"0" at byte 8`,
		"019b76da-a800-7806-8010-0000000000\xff\xff": "expected a hexadecimal digit",
		strings.Repeat("é", 18):                      "expected a hexadecimal digit",
		strings.Repeat("0", 1000):                    "has 1000 bytes",
	} {
		_, err := snowflake.ParseUUID(text)
		checkError(t, err, snowflake.ErrSyntax)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseUUID(f *testing.F) {
	for _, seed := range []string{"01939b3c-6d00-7000-8000-0123456789ab", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "", "-", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := snowflake.ParseUUID(s)
		checkError(t, err, snowflake.ErrSyntax)
		if err != nil {
			return
		}
		if u.String() != strings.ToLower(s) {
			t.Errorf("%q comes back as %v", s, u)
		}
		for _, l := range snowflake.Presets() {
			id, err := l.FromUUID(u)
			checkError(t, err, snowflake.ErrOutOfRange)
			if err != nil {
				continue
			}
			back, err := l.UUID(id, snowflake.UUIDTag{})
			if err != nil || !bytes.Equal(back[:6], u[:6]) {
				t.Errorf("%s: %v is %d and comes back as %v, %v", l.Name(), u, id, back, err)
			}
		}
	})
}

func TestUUIDDoesNotAllocate(t *testing.T) {
	l := snowflake.Default()
	id := l.Compose(1<<40, 7, 42)
	buf := make([]byte, 0, 36)
	if n := testing.AllocsPerRun(100, func() {
		u, _ := l.UUID(id, someTag)
		buf = u.Append(buf[:0])
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkUUID(b *testing.B) {
	l := snowflake.Default()
	id := l.Compose(1<<40, 7, 0)
	buf := make([]byte, 0, 36)
	for b.Loop() {
		id++
		u, err := l.UUID(id, someTag)
		if err != nil {
			b.Fatal(err)
		}
		buf = u.Append(buf[:0])
	}
}
