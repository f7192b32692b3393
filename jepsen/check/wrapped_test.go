package check

import (
	"math"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

// wrappedRun is a run with two wrapped generators, and notes about the first one. Its observed clock is 0 at the moment 0.
func wrappedRun(l *snowflake.Layout, notes ...history.Note) *Run {
	return &Run{
		Header:    history.Run{WallNanos: worldEpoch * int64(time.Millisecond), MaxOffsetMillis: 500},
		Layouts:   map[string]*snowflake.Layout{"tiny": l},
		Processes: []ProcessSpan{{Start: 7, Member: "wrap-1", Generator: true, To: math.MaxInt64}, {Start: 8, Member: "wrap-2", Generator: true, To: math.MaxInt64}},
		Notes:     notes,
	}
}

// Only IDs after the end of a window that ended while its holder was frozen are excused, and only soon after the thaw.
func TestGapsOfFrozenWrappers(t *testing.T) {
	t.Parallel()
	spec := worldSpec
	spec.LeaseOnly = true
	l := snowflake.MustNew(spec)
	const second = int64(time.Second)
	for name, c := range map[string]struct {
		window  raftlog.Window
		tick    int64 // units of 10 ms
		worker  uint64
		start   uint32
		excused bool
	}{
		"soon after the thaw":             {window: raftlog.Window{Holder: "wrap-1", Until: 1500}, tick: 2001, start: 7, excused: true},
		"at the end of the window":        {window: raftlog.Window{Holder: "wrap-1", Until: 1500}, tick: 1500, start: 7, excused: true},
		"in the window":                   {window: raftlog.Window{Holder: "wrap-1", Until: 1500}, tick: 1499, start: 7},
		"long after the thaw":             {window: raftlog.Window{Holder: "wrap-1", Until: 1500}, tick: 2600, start: 7},
		"another worker":                  {window: raftlog.Window{Holder: "wrap-1", Until: 1500}, tick: 2001, start: 7, worker: 1},
		"another start":                   {window: raftlog.Window{Holder: "wrap-1", Until: 1500}, tick: 2001, start: 8},
		"a window of another holder":      {window: raftlog.Window{Holder: "wrap-2", Until: 1500}, tick: 2001, start: 7},
		"a returned window":               {window: raftlog.Window{Holder: "wrap-1", Until: 1500, Released: true}, tick: 2001, start: 7},
		"a window that ended before":      {window: raftlog.Window{Holder: "wrap-1", Until: 900}, tick: 2001, start: 7},
		"a window that ended later":       {window: raftlog.Window{Holder: "wrap-1", Until: 2300}, tick: 2301, start: 7},
		"no time to kill after the thaw":  {window: raftlog.Window{Holder: "wrap-1", Until: 2040}, tick: 2041, start: 7, excused: true},
		"time enough to kill after it":    {window: raftlog.Window{Holder: "wrap-1", Until: 2060}, tick: 2061, start: 7},
		"a window of a layout of members": {window: raftlog.Window{Holder: "wrap-1", Until: 1500}, tick: 2001},
	} {
		r := wrappedRun(l, history.Note{At: 10 * second, Member: "wrap-1", What: history.NoteFrozen}, history.Note{At: 20 * second, Member: "wrap-1", What: history.NoteThawed})
		if c.start == 0 {
			c.start, r.Layouts["tiny"] = 7, snowflake.MustNew(worldSpec)
		}
		grants := raftlog.NewGrants()
		grants.Windows[raftlog.Lane{Layout: "tiny"}] = []raftlog.Window{c.window}
		r.findGaps(grants)
		if got := r.excused(l, c.start, l.Compose(c.tick, c.worker, 0)) != nil; got != c.excused {
			t.Errorf("%s: excused = %v, want %v", name, got, c.excused)
		}
	}
}

// Only IDs after a step that the wrapper must answer with a kill are excused, and only soon after the new time.
func TestGapsOfSteps(t *testing.T) {
	t.Parallel()
	spec := worldSpec
	spec.LeaseOnly = true
	l := snowflake.MustNew(spec)
	steps := func(offsets ...time.Duration) (notes []history.Note) {
		for i, offset := range offsets {
			at := int64(20+i) * int64(time.Second)
			notes = append(notes, history.Note{At: at, Member: "wrap-1", What: history.NoteStepping, Detail: offset.String()},
				history.Note{At: at + int64(100*time.Millisecond), Member: "wrap-1", What: history.NoteStepped})
		}
		return notes
	}
	open := raftlog.Window{Holder: "wrap-1", From: 1500, Until: 2600}
	const ms, second = time.Millisecond, time.Second
	for name, c := range map[string]struct {
		steps    []time.Duration
		tick     int64 // units of 10 ms
		start    uint32
		worker   uint64
		released bool
		excused  bool
		outside  bool // only the gap excuses it
	}{
		"ahead out of the window":                   {steps: []time.Duration{10 * second}, tick: 3000, excused: true, outside: true},
		"soon after the new time":                   {steps: []time.Duration{10 * second}, tick: 3510, excused: true, outside: true},
		"long after the new time":                   {steps: []time.Duration{10 * second}, tick: 3511},
		"before the new time":                       {steps: []time.Duration{10 * second}, tick: 2999},
		"in the window":                             {steps: []time.Duration{10 * second}, tick: 2599},
		"another start":                             {steps: []time.Duration{10 * second}, tick: 3000, start: 8},
		"another worker":                            {steps: []time.Duration{10 * second}, tick: 3000, worker: 1},
		"a returned window":                         {steps: []time.Duration{10 * second}, tick: 3000, released: true},
		"ahead to the end, less the offset":         {steps: []time.Duration{5400 * ms}, tick: 2600, excused: true, outside: true},
		"ahead to before the end, less the offset":  {steps: []time.Duration{5300 * ms}, tick: 2600},
		"back before the window":                    {steps: []time.Duration{-6 * second}, tick: 1400, excused: true, outside: true},
		"back, in the window":                       {steps: []time.Duration{-6 * second}, tick: 1500, excused: true},
		"back long after the new time":              {steps: []time.Duration{-20 * second}, tick: 511},
		"back a little":                             {steps: []time.Duration{-4 * ms}, tick: 1499},
		"back a little, from an earlier step ahead": {steps: []time.Duration{second, 998 * ms}, tick: 1499},
		"back in two steps":                         {steps: []time.Duration{-4 * ms, -6100 * ms}, tick: 1490, excused: true, outside: true},
		"ahead and back":                            {steps: []time.Duration{second, -6100 * ms}, tick: 1490, excused: true, outside: true},
	} {
		window := open
		window.Released = c.released
		r := wrappedRun(l, steps(c.steps...)...)
		grants := raftlog.NewGrants()
		grants.Windows[raftlog.Lane{Layout: "tiny"}] = []raftlog.Window{window}
		r.findGaps(grants)
		g := r.excused(l, max(c.start, 7), l.Compose(c.tick, c.worker, 0))
		if (g != nil) != c.excused || g != nil && (g.fact != factAfterStep || g.outside(c.tick) != c.outside) {
			t.Errorf("%s: gap %+v, want one: %v, and outside of the window: %v", name, g, c.excused, c.outside)
		}
	}
}
