package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

// Containment checks that every ID that a client received lies in a window of its worker, at a tick that was not
// returned. The committed log must have granted the window to the process that answered. Each start of a process draws
// its own nonce. The window of a start's first ID shows the nonce of that start.
//
// An ID of an imported row, whose process is always unknown, lies in the places of its backfill job instead.
//
// Numbers of sequences must be in blocks that the log granted and that were not returned.
//
// Containment compares IDs of unknown processes (Start 0) with the windows only. If more than one in a hundred IDs has
// an unknown process, the run is invalid.
//
// logs has one log for each life of the cluster. Holders may use the grants of a life in later lives.
func Containment(r *Run, logs ...*raftlog.Log) Verdict {
	v := newVerdict("containment")
	for _, log := range logs {
		for _, gap := range log.Incomplete {
			v.invalid("the committed log is incomplete: %s", gap)
		}
	}
	if v.Outcome != Pass {
		v.Summary = "the grants of the cluster are unknown; no ID was compared with them"
		return *v
	}
	c := newContainment(r, v)
	if err := c.run(logs); err != nil {
		v.invalid("%v", err)
	}
	switch unknown := v.Facts[factUnknown]; {
	case v.Facts[factRecords] == 0 && v.Facts[factNumbers] == 0:
		v.invalid("no client received an ID or a number")
	case unknown > v.Facts[factIDs]/mostUnknown:
		v.invalid("the issuing process is unknown for %d of %d IDs", unknown, v.Facts[factIDs])
	}
	v.Summary = fmt.Sprintf("compared %d IDs in %d ranges and %d numbers with %d granted windows and all granted blocks; "+
		"found the nonces of %d of %d starts: %d failures",
		v.Facts[factIDs], v.Facts[factRecords], v.Facts[factNumbers], v.Facts[factWindows],
		len(c.starts), len(r.Processes), v.Facts[factFailures])
	return *v
}

// The facts that containment counts.
const (
	factRecords = "records"
	factIDs     = "ids"
	factNumbers = "numbers"
	factWindows = "windows"
	factUnknown = "ids_of_unknown_processes"
	factPast    = "ids_of_the_past"
)

// mostUnknown is the divisor of the number of IDs that gives the limit of those with an unknown process.
const mostUnknown = 100

// containment is the state of Containment.
type containment struct {
	v       *Verdict
	of      *Run
	grants  *raftlog.Grants
	windows map[raftlog.Lane][]raftlog.Window // nonempty windows, ascending
	starts  map[uint32]identity
	owners  map[nonce]uint32 // start of each nonce
}

func newContainment(r *Run, v *Verdict) *containment {
	return &containment{
		v: v, of: r, windows: map[raftlog.Lane][]raftlog.Window{}, starts: map[uint32]identity{}, owners: map[nonce]uint32{},
	}
}

func (c *containment) run(logs []*raftlog.Log) error {
	grants, _, err := grantsOf(logs)
	if err != nil {
		return err
	}
	c.grants = grants
	c.index(grants)
	if err := c.numbers(grants); err != nil {
		return err
	}
	files, err := history.IDFiles(c.of.Dir)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := c.layout(name, grants.Layouts[name], files[name]); err != nil {
			return err
		}
	}
	return nil
}

// index sorts the nonempty windows into c.windows. LogAudit checks that they are disjoint.
func (c *containment) index(grants *raftlog.Grants) {
	for lane, windows := range grants.Windows {
		c.v.Facts[factWindows] += int64(len(windows))
		windows = slices.DeleteFunc(slices.Clone(windows), func(w raftlog.Window) bool { return w.From >= w.Until })
		slices.SortStableFunc(windows, func(a, b raftlog.Window) int { return cmp.Compare(a.From, b.From) })
		c.windows[lane] = windows
	}
}

// layout checks the IDs of one layout.
func (c *containment) layout(name string, l *snowflake.Layout, files []string) error {
	if l == nil {
		c.v.fail("clients received IDs of layout %q, which the log never created", name)
		return nil
	}
	if said := c.of.Layouts[name]; said != nil && !sameLayout(said, l) {
		c.v.fail("the members reported layout %q as %+v, but the log created %+v", name, said.Spec(), l.Spec())
	}
	for _, file := range files {
		for issued, err := range history.ReadIDs(file) {
			if err != nil {
				return err
			}
			c.issued(l, &issued)
		}
	}
	return nil
}

func sameLayout(a, b *snowflake.Layout) bool {
	x, y := a.Spec(), b.Spec()
	return slices.Equal(x.Fields, y.Fields) && x.UnitMillis == y.UnitMillis && x.EpochMillis == y.EpochMillis &&
		x.Datacenter == y.Datacenter && max(x.Spread, 1) == max(y.Spread, 1)
}

// issued checks a range. A range in one cell, the usual case, needs only one check.
func (c *containment) issued(l *snowflake.Layout, i *history.Issued) {
	c.v.Facts[factRecords]++
	c.v.Facts[factIDs] += int64(i.Count)
	if i.Start == 0 && c.ofPast(l, i) {
		c.v.Facts[factPast]++
		return
	}
	if i.Start == 0 {
		c.v.Facts[factUnknown] += int64(i.Count)
	}
	if oneCell(l, i) {
		c.id(l, i, i.First)
		return
	}
	for n := range uint64(i.Count) {
		if c.v.failed() {
			return
		}
		c.id(l, i, i.First+n*i.Step)
	}
}

// ofPast reports whether a range is one ID of a backfill job.
func (c *containment) ofPast(l *snowflake.Layout, i *history.Issued) bool {
	parts, err := l.Unpack(i.First)
	return err == nil && i.Count == 1 && c.grants.Holds(l, parts)
}

// oneCell reports whether the IDs of a range differ only in their sequence field: the step is the layout's, and no
// step carries into another field.
func oneCell(l *snowflake.Layout, i *history.Issued) bool {
	if i.Count == 1 {
		return true
	}
	first, err := l.Unpack(i.First)
	last, lastErr := l.Unpack(i.Last())
	return err == nil && lastErr == nil && i.Step == l.Step() && last.Sequence-first.Sequence == uint64(i.Count-1)
}

// id checks one ID of a range.
func (c *containment) id(l *snowflake.Layout, i *history.Issued, id uint64) {
	parts, err := l.Unpack(id)
	if err != nil || id == 0 || parts.Datacenter != l.Spec().Datacenter {
		c.v.fail("%s is not valid in layout %q (%+v, %v)", c.name(i, id), l.Name(), parts, err)
		return
	}
	if g := c.of.excused(l, i.Start, id); g != nil && g.outside(parts.Tick) {
		c.v.Facts[g.fact]++
		return
	}
	lane := raftlog.Lane{Layout: l.Name(), Worker: parts.Worker}
	windows := c.windows[lane]
	// Index of the last window that begins at or before the tick.
	at := sort.Search(len(windows), func(k int) bool { return windows[k].From > parts.Tick }) - 1
	if at < 0 || parts.Tick >= windows[at].Until {
		c.v.fail("%s is of worker %d at tick %d of layout %q, which the log did not grant: %s",
			c.name(i, id), parts.Worker, parts.Tick, l.Name(), nearest(windows, at))
		return
	}
	if i.Start != 0 {
		c.owner(l, i, id, &windows[at])
	}
}

// nearest describes the window at an index, the last one before a tick; -1 for none.
func nearest(windows []raftlog.Window, at int) string {
	if at < 0 {
		return "the worker has no window up to that tick"
	}
	w := &windows[at]
	if !w.Released {
		return fmt.Sprintf("the window of token %d, of %s, ended at %d", w.Token, w.Holder, w.Until)
	}
	return fmt.Sprintf("the window of token %d, of %s, was returned from tick %d", w.Token, w.Holder, w.Until)
}

// name returns an ID with its operation, for failures.
func (c *containment) name(i *history.Issued, id uint64) string {
	from := "an unknown process"
	if p, ok := c.of.Process(i.Start); ok {
		from = p.Member
	}
	return fmt.Sprintf("ID %d of operation %d (client %d, answered by %s, start %d)", id, i.Op, i.Client, from, i.Start)
}
