package api

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/server/wire"
)

const (
	// listingAge is the time for which one listing answers lists. listsKept is the maximum number of lists that are kept of a
	// listing: any number of viewers of a kept list costs one computation per listing.
	listingAge = time.Second
	listsKept  = 64
)

// sequenceLists computes lists of sequences in an order that the state machine does not keep. It computes one list at a time,
// and holds no lock for which commands wait. Its methods are safe for concurrent use.
type sequenceLists struct {
	listing func() fsm.Listing
	now     func() int64 // Unix ms

	mu      sync.Mutex
	taken   fsm.Listing
	takenAt time.Duration // monotonic clock
	kept    map[listQuery]sequenceList
}

// listQuery is a request for a page of a list.
type listQuery struct {
	nearest  bool   // order by the remaining part, nearest end first; else by name
	contains string // part of the names, in lower case
	token    string
	size     int
}

// sequenceList is a page of sequences.
type sequenceList struct {
	listing fsm.Listing
	at      time.Duration // time of the listing
	rows    []listRow
	next    string // token of the next page; empty after the last one
}

// listRow is a sequence of a list.
type listRow struct {
	name string
	// left is the part of the period's numbers that is not granted yet, 0 to 1; unbounded if the sequence has no end.
	left  float64
	total uint64 // count of a period's numbers; 0 without an end
	// over reports whether the period has ended. The next number then begins another period.
	over bool
}

// unbounded is listRow.left of a sequence without an end. It is greater than every part.
const unbounded = 2

// list returns a page, at a time on the monotonic clock.
func (l *sequenceLists) list(q listQuery, at time.Duration) (sequenceList, error) {
	from, err := q.from()
	if err != nil {
		return sequenceList{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil || at-l.takenAt >= listingAge {
		l.taken, l.takenAt, l.kept = l.listing(), at, make(map[listQuery]sequenceList)
	}
	if kept, ok := l.kept[q]; ok {
		return kept, nil
	}
	worked := sequenceList{listing: l.taken, at: l.takenAt, rows: l.page(q, from)}
	if len(worked.rows) > q.size {
		worked.rows = worked.rows[:q.size]
		worked.next = q.tokenOf(worked.rows[q.size-1])
	}
	if len(l.kept) < listsKept {
		l.kept[q] = worked
	}
	return worked, nil
}

// page returns the rows after from, at most q.size+1. Requires l.mu held.
func (l *sequenceLists) page(q listQuery, from listRow) []listRow {
	periods := newPeriods(l.now())
	var rows []listRow
	beyond := listRow{left: unbounded + 1} // rows from beyond on are not on the page
	start, most := "", q.size+1
	if !q.nearest {
		start = from.name
	}
	var match func(name string) bool
	if q.contains != "" {
		match = func(name string) bool { return strings.Contains(strings.ToLower(name), q.contains) }
	}
	for b := range l.taken.After(start, match) {
		row := rowOf(b, periods)
		if !q.nearest {
			if rows = append(rows, row); len(rows) == most {
				break
			}
			continue
		}
		if row.compare(from) <= 0 || row.compare(beyond) >= 0 {
			continue
		}
		if rows = append(rows, row); len(rows) >= 4*most { // seldom enough that sorting costs less than a heap
			rows = nearestOf(rows, most)
			beyond = rows[most-1]
		}
	}
	if q.nearest {
		rows = nearestOf(rows, most)
	}
	return rows
}

func nearestOf(rows []listRow, most int) []listRow {
	slices.SortFunc(rows, listRow.compare)
	return rows[:min(len(rows), most)]
}

func rowOf(b fsm.Brief, periods *periods) listRow {
	row := listRow{name: b.Name, total: b.Total, left: unbounded, over: b.Period != 0 && b.Period < periods.of(b.Periods)}
	if b.Bounded {
		row.left = row.ratio(b.Remaining)
	}
	return row
}

// ratio returns the part of a period's numbers that is left, 0 to 1, if that many numbers are.
func (r listRow) ratio(remaining uint64) float64 {
	if r.over || r.total == 0 {
		return 1
	}
	return min(float64(remaining)/float64(r.total), 1)
}

// compare orders rows by the remaining part, smallest first, and then by name.
func (r listRow) compare(other listRow) int {
	return cmp.Or(cmp.Compare(r.left, other.left), strings.Compare(r.name, other.name))
}

// from returns the row after which the page begins.
func (q listQuery) from() (listRow, error) {
	switch {
	case q.token == "":
		return listRow{left: -1}, nil
	case !q.nearest:
		return listRow{name: q.token}, nil
	}
	bits, name, found := strings.Cut(q.token, "~")
	n, err := strconv.ParseUint(bits, 16, 64)
	if left := math.Float64frombits(n); found && err == nil && left >= 0 && left <= unbounded {
		return listRow{name: name, left: left}, nil
	}
	return listRow{}, wire.Invalid("page_token: expected the next_page_token of a list with the same order")
}

func (q listQuery) tokenOf(r listRow) string {
	if !q.nearest {
		return r.name
	}
	return strconv.FormatUint(math.Float64bits(r.left), 16) + "~" + r.name
}

// periods caches the present periods by their rules, of which there are few.
type periods struct {
	now   int64 // Unix ms
	known map[fsm.Periods]int32
}

func newPeriods(now int64) *periods { return &periods{now, make(map[fsm.Periods]int32)} }

// of returns the present period; 0 if the sequence has no periods or this program does not know the time zone.
func (p *periods) of(rules fsm.Periods) int32 {
	if rules.Reset == commandv1.SequenceReset_SEQUENCE_RESET_NONE {
		return 0
	}
	period, ok := p.known[rules]
	if !ok {
		period = member.PeriodAt(rules, p.now)
		p.known[rules] = period
	}
	return period
}
