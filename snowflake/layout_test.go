package snowflake_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/snowflake"
)

// layoutOf makes a layout with these fields and with 1 ms ticks since 1970.
func layoutOf(t testing.TB, fields string) *snowflake.Layout {
	t.Helper()
	return layoutWith(t, fields, func(*snowflake.Spec) {})
}

func layoutWith(t testing.TB, fields string, change func(*snowflake.Spec)) *snowflake.Layout {
	t.Helper()
	parsed, err := snowflake.ParseFields(fields)
	if err != nil {
		t.Fatal(err)
	}
	spec := snowflake.Spec{Name: "test", Fields: parsed, UnitMillis: 1}
	change(&spec)
	l, err := snowflake.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNewRefuses(t *testing.T) {
	type spec = snowflake.Spec
	cases := []struct {
		complaint string
		change    func(*spec)
	}{
		{"name of 0 bytes", func(s *spec) { s.Name = "" }},
		{"name of 65 bytes", func(s *spec) { s.Name = strings.Repeat("a", 65) }},
		{`"A" at byte 0`, func(s *spec) { s.Name = "A" }},
		{`"-" at byte 0`, func(s *spec) { s.Name = "-a" }},
		{`"/" at byte 1`, func(s *spec) { s.Name = "a/b" }},
		{`"\xc3" at byte 1`, func(s *spec) { s.Name = "aé" }},
		{"no time field", func(s *spec) { s.Fields = nil }},
		{"no time field", func(s *spec) { s.Fields = s.Fields[1:] }},
		{"worker appears more than once", func(s *spec) { s.Fields[3].Field = snowflake.FieldWorker }},
		{"unknown Field(0)", func(s *spec) { s.Fields[1].Field = 0 }},
		{"unknown Field(5)", func(s *spec) { s.Fields[1].Field = 5 }},
		{"sequence has 0 bits", func(s *spec) { s.Fields[3].Bits = 0 }},
		{"time has 64 bits", func(s *spec) { s.Fields[0].Bits = 64 }},
		{"65 bits", func(s *spec) { s.Fields[0].Bits += 2 }},
		{"tick of 0 ms", func(s *spec) { s.UnitMillis = 0 }},
		{"tick of -1 ms", func(s *spec) { s.UnitMillis = -1 }},
		{"tick of 3600001 ms", func(s *spec) { s.UnitMillis = 3_600_001 }},
		{"datacenter 32 does not fit its field, expected 0 to 31", func(s *spec) { s.Datacenter = 32 }},
		{"does not fit its field", func(s *spec) { s.Datacenter = math.MaxUint64 }},
		{"datacenter 1: must be 0 without a datacenter field", func(s *spec) {
			s.Datacenter = 1
			s.Fields = append(s.Fields[:1], s.Fields[2:]...)
		}},
		{"spread 4097 exceeds the sequence field, expected 0 to 4096", func(s *spec) { s.Spread = 4097 }},
		{"spread 2: must be 0 or 1 without a sequence field", func(s *spec) { s.Spread, s.Fields = 2, s.Fields[:3] }},
	}
	for _, c := range cases {
		s := snowflake.Spec{Name: "test", UnitMillis: 1, Fields: []snowflake.FieldBits{
			{Field: snowflake.FieldTime, Bits: 41}, {Field: snowflake.FieldDatacenter, Bits: 5},
			{Field: snowflake.FieldWorker, Bits: 5}, {Field: snowflake.FieldSequence, Bits: 12},
		}}
		c.change(&s)
		_, err := snowflake.New(s)
		if !errors.Is(err, snowflake.ErrInvalidLayout) || !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("New(%+v): %v, want ErrInvalidLayout with %q", s, err, c.complaint)
		}
	}
}

func TestNewAcceptsTheExtremes(t *testing.T) {
	for _, name := range []string{"a", "0", "a.b_c-d", strings.Repeat("z", 64)} {
		layoutWith(t, "time:63,worker:1", func(s *snowflake.Spec) {
			s.Name, s.UnitMillis, s.EpochMillis = name, 3_600_000, math.MinInt64
		})
	}
	layoutWith(t, "time:1,datacenter:63", func(s *snowflake.Spec) { s.Datacenter, s.Spread = 1<<63-1, 1 })
	layoutWith(t, "time:1,sequence:63", func(s *snowflake.Spec) { s.Spread = 1 << 63 })
}

func TestMustNewPanics(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, snowflake.ErrInvalidLayout) {
			t.Errorf("panic with %v, want ErrInvalidLayout", err)
		}
	}()
	snowflake.MustNew(snowflake.Spec{})
}

func TestLayoutIsImmutable(t *testing.T) {
	spec := snowflake.Default().Spec()
	l, err := snowflake.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Fields[0].Bits = 1
	l.Spec().Fields[0].Bits = 2
	if want := snowflake.Default().Spec(); !reflect.DeepEqual(l.Spec(), want) {
		t.Errorf("Spec() = %+v after changing copies, want %+v", l.Spec(), want)
	}
}

func TestSizes(t *testing.T) {
	type sizes struct {
		bits                             int
		sequenceBits                     uint8
		workers, sequences, ticks, steps uint64
	}
	for fields, want := range map[string]sizes{
		"time:41,worker:10,sequence:12":   {63, 12, 1024, 4096, 1 << 41, 1},
		"time:39,sequence:8,worker:16":    {63, 8, 65536, 256, 1 << 39, 65536},
		"time:48,sequence:16":             {64, 16, 0, 65536, 1 << 48, 1},
		"time:63":                         {63, 0, 0, 0, 1 << 63, 0},
		"sequence:1,time:63":              {64, 1, 0, 2, 1 << 63, 1 << 63},
		"time:1,worker:63":                {64, 0, 1 << 63, 0, 2, 0},
		"time:1,datacenter:1,sequence:62": {64, 62, 0, 1 << 62, 2, 1},
	} {
		l := layoutOf(t, fields)
		got := sizes{l.Bits(), l.SequenceBits(), l.Workers(), l.Sequences(), l.Ticks(), l.Step()}
		if got != want {
			t.Errorf("%s: %+v, want %+v", fields, got, want)
		}
	}
}

func TestCanIssue(t *testing.T) {
	const epoch = 1_000_000
	cases := []struct {
		fields    string
		now       int64
		want      error
		complaint string
	}{
		{"time:41,worker:10,sequence:12", epoch, nil, ""},
		{"time:41,worker:10,sequence:12", epoch - 1, snowflake.ErrInvalidLayout, "epoch at 1970-01-01T00:16:40.000Z"},
		{"time:41,worker:10,sequence:12", math.MinInt64, snowflake.ErrInvalidLayout, "epoch"},
		{"time:41,worker:10,sequence:12", epoch + 1<<41 - 1, nil, ""},
		{"time:41,worker:10,sequence:12", epoch + 1<<41, snowflake.ErrExhausted, "full since 2039-09-07T16:04:15.552Z"},
		{"time:41,worker:10,sequence:12", math.MaxInt64, snowflake.ErrExhausted, "full since"},
		{"time:61,worker:1,sequence:1", epoch, nil, ""},
		{"time:42,worker:10,sequence:12", epoch, snowflake.ErrInvalidLayout, "64 bits; a layout that issues IDs has at most 63"},
		{"time:41,sequence:12", epoch, snowflake.ErrInvalidLayout, "no worker field"},
		{"time:41,worker:10", epoch, snowflake.ErrInvalidLayout, "no sequence field"},
		{"worker:10,time:41,sequence:12", epoch, snowflake.ErrInvalidLayout, "worker as its highest field"},
	}
	for _, c := range cases {
		err := layoutWith(t, c.fields, func(s *snowflake.Spec) { s.EpochMillis = epoch }).CanIssue(c.now)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%s: CanIssue(%d): %v, want %v with %q", c.fields, c.now, err, c.want, c.complaint)
		}
	}
}

// There are 2^64-1 ms from the smallest epoch to the greatest instant, more than a tick can hold. Exhaustion
// must show nevertheless.
func TestCanIssueBeyondTheReachOfTicks(t *testing.T) {
	l := layoutWith(t, "time:61,worker:1,sequence:1", func(s *snowflake.Spec) { s.EpochMillis = math.MinInt64 })
	for _, now := range []int64{math.MinInt64 + 1<<61, 0, math.MaxInt64} {
		if err := l.CanIssue(now); !errors.Is(err, snowflake.ErrExhausted) {
			t.Errorf("CanIssue(%d): %v, want ErrExhausted", now, err)
		}
	}
	if err := l.CanIssue(math.MinInt64 + 1<<61 - 1); err != nil {
		t.Errorf("CanIssue in the last tick: %v", err)
	}
}

func TestCanLease(t *testing.T) {
	const epoch = 1_000_000
	cases := []struct {
		fields    string
		now       int64
		want      error
		complaint string
	}{
		{"time:42,worker:10,sequence:12", epoch, nil, ""}, // 64 bits
		{"worker:10,time:41,sequence:12", epoch, nil, ""},
		{"time:41,worker:10", epoch, nil, ""},
		{"time:62,worker:2", epoch, nil, ""},
		{"time:63,worker:1", epoch, snowflake.ErrInvalidLayout, "63 bits of time; a layout that leases workers has at most 62"},
		{"time:41,sequence:12", epoch, snowflake.ErrInvalidLayout, "no worker field"},
		{"worker:10,time:41", epoch - 1, snowflake.ErrInvalidLayout, "epoch at 1970-01-01T00:16:40.000Z"},
		{"worker:10,time:41", epoch + 1<<41 - 1, nil, ""},
		{"worker:10,time:41", epoch + 1<<41, snowflake.ErrExhausted, "full since 2039-09-07T16:04:15.552Z"},
	}
	for _, c := range cases {
		l := layoutWith(t, c.fields, func(s *snowflake.Spec) { s.EpochMillis, s.LeaseOnly = epoch, true })
		err := l.CanLease(c.now)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%s: CanLease(%d): %v, want %v with %q", c.fields, c.now, err, c.want, c.complaint)
		}
		if err := l.CanIssue(c.now); !errors.Is(err, snowflake.ErrInvalidLayout) || !strings.Contains(err.Error(), "only leases workers") {
			t.Errorf("%s: CanIssue(%d): %v, want ErrInvalidLayout, because the layout only leases", c.fields, c.now, err)
		}
		both := layoutWith(t, c.fields, func(s *snowflake.Spec) { s.EpochMillis = epoch })
		if lease, issue := both.CanLease(c.now), both.CanIssue(c.now); fmt.Sprint(lease) != fmt.Sprint(issue) {
			t.Errorf("%s: CanLease(%d): %v, but CanIssue: %v", c.fields, c.now, lease, issue)
		}
	}
}
