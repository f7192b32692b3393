package check

import (
	"math"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

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
		r := &Run{
			Header:    history.Run{WallNanos: worldEpoch * int64(time.Millisecond), MaxOffsetMillis: 500},
			Layouts:   map[string]*snowflake.Layout{"tiny": l},
			Processes: []ProcessSpan{{Start: 7, Member: "wrap-1", Generator: true, To: math.MaxInt64}, {Start: 8, Member: "wrap-2", Generator: true, To: math.MaxInt64}},
			Notes:     []history.Note{{At: 10 * second, Member: "wrap-1", What: history.NoteFrozen}, {At: 20 * second, Member: "wrap-1", What: history.NoteThawed}},
		}
		if c.start == 0 {
			c.start, r.Layouts["tiny"] = 7, snowflake.MustNew(worldSpec)
		}
		grants := raftlog.NewGrants()
		grants.Windows[raftlog.Lane{Layout: "tiny"}] = []raftlog.Window{c.window}
		r.findGaps(grants)
		if got := r.excused(l, c.start, l.Compose(c.tick, c.worker, 0)); got != c.excused {
			t.Errorf("%s: excused = %v, want %v", name, got, c.excused)
		}
	}
}
