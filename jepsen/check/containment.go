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

// Containment checks that every ID that a client was given lies in a window that the
// committed log granted: its worker's, at a tick that was not returned, and granted to
// the process that answered. A process is known by its nonce, of which each start draws its
// own: whose it is shows with the first ID of a start.
//
// Numbers of sequences have to be of blocks that were granted and not returned.
//
// IDs of processes that are not known (Start 0) are only compared with the windows. If they are more than
// one of a hundred, the run is invalid.
//
// There is a log for each life of the cluster. What one granted its holders may issue in those that follow.
func Containment(r *Run, logs ...*raftlog.Log) Verdict {
	v := newVerdict("containment")
	for _, log := range logs {
		for _, gap := range log.Incomplete {
			v.invalid("the committed log is not known: %s", gap)
		}
	}
	if v.Outcome != Pass {
		v.Summary = "what the cluster granted is not known, so no ID was compared with it"
		return *v
	}
	c := newContainment(r, v)
	if err := c.run(logs); err != nil {
		v.invalid("%v", err)
	}
	switch unknown := v.Facts[factUnknown]; {
	case v.Facts[factRecords] == 0 && v.Facts[factNumbers] == 0:
		v.invalid("no client was given an ID or a number")
	case unknown > v.Facts[factIDs]/mostUnknown:
		v.invalid("of %d of %d IDs nobody knows which process issued them", unknown, v.Facts[factIDs])
	}
	v.Summary = fmt.Sprintf("%d IDs in %d ranges and %d numbers were compared with %d windows and all blocks that the log granted, and %d of %d starts known by their nonce: %d failures",
		v.Facts[factIDs], v.Facts[factRecords], v.Facts[factNumbers], v.Facts[factWindows], len(c.starts), len(r.Processes), v.Facts[factFailures])
	return *v
}

// The facts that containment counts.
const (
	factRecords = "records"
	factIDs     = "ids"
	factNumbers = "numbers"
	factWindows = "windows"
	factUnknown = "ids_of_unknown_processes"
)

// mostUnknown is one of how many IDs may be of a process that is not known.
const mostUnknown = 100

type containment struct {
	v       *Verdict
	of      *Run
	windows map[raftlog.Lane][]raftlog.Window // without empty ones, ascending
	starts  map[uint32]identity
	owners  map[nonce]uint32 // the start that a nonce belongs to
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

// index keeps the windows that have ticks. LogAudit checks that they are disjoint.
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
		c.v.fail("clients were given IDs of layout %q, which the log never created", name)
		return nil
	}
	if said := c.of.Layouts[name]; said != nil && !sameLayout(said, l) {
		c.v.fail("the members said that layout %q is %+v, and the log created %+v", name, said.Spec(), l.Spec())
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

// issued checks a range. Mostly it lies in one cell.
func (c *containment) issued(l *snowflake.Layout, i *history.Issued) {
	c.v.Facts[factRecords]++
	c.v.Facts[factIDs] += int64(i.Count)
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

// oneCell reports whether all IDs of a range differ in their sequence only: then it is as many
// steps of the sequence from the first to the last, with no carry into another field.
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
		c.v.fail("%s is no ID of layout %q (%+v, %v)", c.name(i, id), l.Name(), parts, err)
		return
	}
	lane := raftlog.Lane{Layout: l.Name(), Worker: parts.Worker}
	windows := c.windows[lane]
	// The last window that begins at the tick or before.
	at := sort.Search(len(windows), func(k int) bool { return windows[k].From > parts.Tick }) - 1
	if at < 0 || parts.Tick >= windows[at].Until {
		c.v.fail("%s is of worker %d at tick %d of layout %q, which the log granted to nobody: %s",
			c.name(i, id), parts.Worker, parts.Tick, l.Name(), nearest(windows, at))
		return
	}
	if i.Start != 0 {
		c.owner(l, i, id, &windows[at])
	}
}

// nearest describes the window before a tick.
func nearest(windows []raftlog.Window, at int) string {
	if at < 0 {
		return "its first window begins later, or it has none"
	}
	w := &windows[at]
	if !w.Released {
		return fmt.Sprintf("the window of token %d, of %s, ended at %d", w.Token, w.Holder, w.Until)
	}
	return fmt.Sprintf("the window of token %d, of %s, was returned from %d on", w.Token, w.Holder, w.Until)
}

// name names an ID in a failure.
func (c *containment) name(i *history.Issued, id uint64) string {
	from := "a process that is not known"
	if p, ok := c.of.Process(i.Start); ok {
		from = p.Member
	}
	return fmt.Sprintf("ID %d of operation %d (client %d, answered by %s, start %d)", id, i.Op, i.Client, from, i.Start)
}
