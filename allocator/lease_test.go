package allocator

import (
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"
)

// reference is a lease without optimizations: it walks from cell to cell.
type reference struct {
	layout         *snowflake.Layout
	worker         uint64
	tick, sequence int64 // the next cell
	until          int64
	ahead          int64
	closed, issued bool
}

func (m *reference) id(tick, sequence int64) uint64 {
	id, err := m.layout.Pack(snowflake.Parts{Tick: tick, Datacenter: m.layout.Spec().Datacenter, Worker: m.worker, Sequence: uint64(sequence)})
	if err != nil {
		panic(err)
	}
	return id
}

func (m *reference) step(tick, sequence int64) (int64, int64) {
	if sequence+1 == int64(m.layout.Sequences()) {
		return tick + 1, 0
	}
	return tick, sequence + 1
}

func (m *reference) take(now int64, n int, after uint64) (ids []uint64, v takeResult) {
	ticks := int64(m.layout.Ticks())
	switch {
	case m.closed:
		return nil, closed
	case now < 0:
		return nil, early
	case now >= ticks:
		return nil, exhausted
	}
	tick, sequence := m.tick, m.sequence
	switch start := int64(m.layout.StartSequence(now)); {
	case tick < now:
		tick, sequence = now, start
	case tick == now && !m.issued:
		sequence = max(sequence, start)
	}
	v = early
	if tick <= now+m.ahead && tick < ticks {
		for after != 0 && m.id(tick, sequence) <= after {
			v = floorEarly
			if tick, sequence = m.step(tick, sequence); tick == ticks {
				return nil, unreachable
			}
		}
	}
	switch {
	case tick >= ticks:
		return nil, exhausted
	case tick > now+m.ahead:
		return nil, v
	case tick >= m.until:
		return nil, ended
	}
	for len(ids) < n && tick <= now+m.ahead && tick < m.until {
		ids = append(ids, m.id(tick, sequence))
		tick, sequence = m.step(tick, sequence)
	}
	m.tick, m.sequence, m.issued = tick, sequence, true
	return ids, taken
}

// small draws a layout with few enough cells to walk through.
func small(t *rapid.T) *snowflake.Layout {
	fields := []snowflake.FieldBits{
		{Field: snowflake.FieldWorker, Bits: rapid.Uint8Range(1, 3).Draw(t, "worker bits")},
		{Field: snowflake.FieldSequence, Bits: rapid.Uint8Range(1, 4).Draw(t, "sequence bits")},
	}
	spec := snowflake.Spec{Name: "small", UnitMillis: rapid.SampledFrom([]int64{1, 10, 1000}).Draw(t, "unit")}
	if rapid.Bool().Draw(t, "datacenter") {
		fields = append(fields, snowflake.FieldBits{Field: snowflake.FieldDatacenter, Bits: 2})
		spec.Datacenter = rapid.Uint64Range(0, 3).Draw(t, "datacenter value")
	}
	fields = rapid.Permutation(fields).Draw(t, "order")
	spec.Fields = append([]snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: rapid.Uint8Range(2, 6).Draw(t, "time bits")}}, fields...)
	for _, f := range fields {
		if f.Field == snowflake.FieldSequence {
			spec.Spread = rapid.Uint64Range(0, 1<<f.Bits).Draw(t, "spread")
		}
	}
	return snowflake.MustNew(spec)
}

func TestLeaseIsTheReference(t *testing.T) {
	for range 50 { // each check is 100 runs of some microseconds
		seed.Check(t, leaseIsTheReference)
	}
}

func leaseIsTheReference(t *rapid.T) {
	layout := small(t)
	ticks := int64(layout.Ticks())
	worker := rapid.Uint64Range(0, layout.Workers()-1).Draw(t, "worker")
	from := rapid.Int64Range(0, ticks-1).Draw(t, "from")
	first := rapid.Int64Range(0, ticks).Draw(t, "first")
	until := rapid.Int64Range(from+1, ticks).Draw(t, "until")
	ahead := rapid.Int64Range(0, 5).Draw(t, "ahead")

	maxAhead := time.Duration(ahead*layout.Spec().UnitMillis) * time.Millisecond
	l := newLease(layout, Grant{Worker: worker, Token: 1, From: from, Until: until}, first, maxAhead)
	m := &reference{layout: layout, worker: worker, tick: max(from, first), until: until, ahead: ahead}
	if m.tick < ticks && m.id(m.tick, 0) == 0 {
		m.sequence = 1
	}

	var last uint64
	highest := from - 1 // tick
	issued := false
	t.Repeat(map[string]func(*rapid.T){
		"take": func(t *rapid.T) {
			now := rapid.OneOf(rapid.Int64Range(m.tick-ahead-2, m.tick+2), rapid.Int64Range(-1, ticks)).Draw(t, "now")
			n := rapid.Uint64Range(1, 40).Draw(t, "n")
			after := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, 1<<layout.Bits()+1), rapid.Uint64Range(last, last+2<<(layout.Bits()-bits.Len64(layout.Ticks())+1)), rapid.Just(uint64(math.MaxUint64))).Draw(t, "after")
			want, wantResult := m.take(now, int(n), after)
			start, end, v, contended := l.take(now, n, after)
			if v != wantResult || contended {
				t.Fatalf("result %v, contended %v, the reference says %v", v, contended, wantResult)
			}
			if v != taken {
				return
			}
			var got []uint64
			for _, r := range l.ranges(nil, start, end) {
				for id := range r.All() {
					got = append(got, id)
				}
			}
			if len(got) != len(want) || len(got) == 0 || uint64(len(got)) > n {
				t.Fatalf("%d IDs, the reference has %d of %d", len(got), len(want), n)
			}
			for k, id := range got {
				if id != want[k] {
					t.Fatalf("ID %d is %d, the reference says %d", k, id, want[k])
				}
				if id <= last || id <= after {
					t.Fatalf("%d after %d, with floor %d", id, last, after)
				}
				parts, err := layout.Unpack(id)
				if err != nil || parts.Worker != worker || parts.Tick < from || parts.Tick >= m.until || parts.Tick > now+ahead {
					t.Fatalf("%+v on worker %d in [%d, %d) at %d: %v", parts, worker, from, m.until, now, err)
				}
				last, highest, issued = id, parts.Tick, true
			}
		},
		"extend": func(t *rapid.T) {
			m.until = rapid.Int64Range(m.until, ticks).Draw(t, "until")
			l.extend(m.until)
			if l.until() != m.until {
				t.Fatalf("until %d, want %d", l.until(), m.until)
			}
		},
		"close": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "really") != 0 {
				t.Skip()
			}
			m.closed = true
			for range 2 {
				l.close()
				if l.next() != highest+1 || l.issued() != issued {
					t.Fatalf("next %d, issued %v, want %d, %v", l.next(), l.issued(), highest+1, issued)
				}
			}
		},
		"above": func(t *rapid.T) {
			id := rapid.Uint64Range(0, 1<<layout.Bits()+1).Draw(t, "id")
			cell, ok := l.above(id)
			switch {
			case ok && l.id(cell) <= id:
				t.Fatalf("above(%d) is cell %d with ID %d", id, cell, l.id(cell))
			case ok && cell > 0 && l.id(cell-1) > id:
				t.Fatalf("above(%d) is cell %d, but the one before has ID %d", id, cell, l.id(cell-1))
			case !ok && l.id(l.cell(ticks)-1) > id:
				t.Fatalf("above(%d) is nothing", id)
			}
		},
	})
}

// tiny returns a lease of a layout with two workers. Each tick has four IDs of each worker. The lease issues up
// to five ticks ahead of the clock.
func tiny(g Grant, first int64) *lease {
	layout := snowflake.MustNew(snowflake.Spec{Name: "tiny", UnitMillis: 1, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 6}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 2},
	}})
	return newLease(layout, g, first, 5*time.Millisecond)
}

func TestLeaseDoesNotIssueZero(t *testing.T) {
	for worker, want := range []uint64{1, 4} { // least ID of each worker, except 0
		l := tiny(Grant{Worker: uint64(worker), Token: 1, From: 0, Until: 9}, 0)
		if start, _, v, _ := l.take(0, 1, 0); v != taken || l.id(start) != want {
			t.Errorf("worker %d: first ID %d, result %v, want %d", worker, l.id(start), v, want)
		}
	}
}

// Ticks 10 and 11 are cells 40 to 47.
func TestLeaseIssuesWithinItsWindow(t *testing.T) {
	window := Grant{Worker: 1, Token: 1, From: 10, Until: 12}
	for first, want := range map[int64]uint64{7: 40, 10: 40, 11: 44} { // key: tick at which the lane wants to begin
		if start, _, v, _ := tiny(window, first).take(8, 1, 0); v != taken || start != want {
			t.Errorf("from tick %d on: first cell %d, result %v, want %d", first, start, v, want)
		}
	}
	fresh, amid := tiny(window, 0), tiny(window, 0)
	amid.take(10, 1, 0) // amid a tick, take has its own path
	for name, l := range map[string]*lease{"from a fresh tick": fresh, "amid a tick": amid} {
		if _, end, v, _ := l.take(10, 20, 0); v != taken || end != 48 {
			t.Errorf("%s: up to cell %d, result %v, want up to 48", name, end, v)
		}
		if start, _, v, _ := l.take(10, 1, 0); v != ended {
			t.Errorf("%s: then cell %d, result %v, want none", name, start, v)
		}
	}
}

func TestSlowStart(t *testing.T) {
	var s slowStart
	s.begin(time.Minute)
	for s.current < time.Minute {
		if least, most := min(2*s.current, s.max), min(4*s.current, s.max); s.coming < least || s.coming > most {
			t.Fatalf("requests %v after %v", s.coming, s.current)
		}
		for range 100 {
			if d := s.extendAfter(time.Hour); d < s.current/4 || d > s.current/2 {
				t.Fatalf("extends after %v of %v", d, s.current)
			}
		}
		s.extended(time.Minute)
	}
	var first []time.Duration // times in the first windows of full length
	for range 1000 {
		s.failed()
		first = append(first, s.extendAfter(time.Hour))
		for range 10 {
			if d := s.extendAfter(time.Hour); d < s.current/2 || d > s.current*55/100 {
				t.Fatalf("extends after %v of %v", d, s.current)
			}
		}
	}
	slices.Sort(first)
	for i, d := range first {
		if even := time.Duration(i) * s.current / 2 / 1000; (d - even).Abs() > 3*time.Second {
			t.Fatalf("of 1,000 first windows of full length, the extension %d is after %v, want about %v", i, d, even)
		}
	}
	s.begin(time.Minute) // another worker
	if s.current != firstWindow || s.coming != time.Minute {
		t.Fatalf("with another worker: %v, then %v", s.current, s.coming)
	}
	s.extended(time.Minute)
	s.extended(0)
	if s.coming < 2*time.Minute || s.coming > 4*time.Minute || s.max != limits.DefaultWindow {
		t.Fatalf("without a maximum: %v of %v", s.coming, s.max)
	}
	if d := s.extendAfter(-time.Second); d != minBackoff {
		t.Fatalf("without time left: %v", d)
	}
}

func TestBackoff(t *testing.T) {
	for _, most := range []time.Duration{maxBackoff, 20 * time.Second} {
		for n := range 1000 {
			if d := backoff(n, most); d < minBackoff || d > most || n >= 10 && d < most/2 {
				t.Fatalf("pause %v after %d failures, at most %v", d, n, most)
			}
		}
	}
}

// Callers that take an ID now and then, in whatever rhythm, reach each shard that they choose by the remainder of the ID. In
// layouts with the worker below the sequence, they choose by the bits above it.
func TestSingleIDsReachEachShard(t *testing.T) {
	const shards, ids = 64, 600
	for _, layout := range snowflake.Presets() {
		if layout.Bits() > 63 || layout.Spec().LeaseOnly {
			continue // no lane issues its IDs
		}
		for _, every := range []int64{1, 7, 10, 64, 100, 1000} {
			from := int64(layout.Ticks() / 2)
			l := newLease(layout, Grant{Worker: 0, Token: 1, From: from, Until: from + ids*every}, from, 0)
			var reached [shards]bool
			for i := range int64(ids) {
				start, _, v, _ := l.take(from+i*every, 1, 0)
				if v != taken {
					t.Fatal(v)
				}
				reached[l.id(start)/layout.Step()%shards] = true
			}
			if missing := slices.Index(reached[:], false); missing >= 0 {
				t.Errorf("%s, an ID every %d ticks: no ID for shard %d of %d", layout.Name(), every, missing, shards)
			}
		}
	}
}

// The spread costs no sequence once a tick is full.
func TestFullTicksHaveNoGaps(t *testing.T) {
	layout, _ := snowflake.Preset("sonyflake")
	l := newLease(layout, Grant{Worker: 0, Token: 1, From: 5, Until: 100}, 5, 0)
	l.take(5, 1000, 0)
	for tick := int64(6); tick < 100; tick++ {
		if start, end, v, _ := l.take(tick, 1000, 0); v != taken || end-start != layout.Sequences() {
			t.Fatalf("tick %d: %d IDs, %v, want %d", tick, end-start, v, layout.Sequences())
		}
	}
}
