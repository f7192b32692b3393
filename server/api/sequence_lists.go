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
	order    listOrder
	contains string // part of the names, in lower case
	token    string
	size     int
}

// listOrder is the order of a list.
type listOrder int

const (
	byName      listOrder = iota
	byRemaining           // smallest remaining part first, sequences without an end last
	byOldest              // oldest open reservation first, sequences without one last
)

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
	// key is the row's place in the order of the list; rows with equal keys are in the order of their names.
	key float64
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
	beyond := listRow{key: math.Inf(1)} // rows from beyond on are not on the page
	start, most := "", q.size+1
	if q.order == byName {
		start = from.name
	}
	var match func(name string) bool
	if q.contains != "" {
		match = func(name string) bool { return strings.Contains(strings.ToLower(name), q.contains) }
	}
	for b := range l.taken.After(start, match) {
		row := rowOf(b, periods)
		row.key = q.order.key(b, row.left)
		if q.order == byName {
			if rows = append(rows, row); len(rows) == most {
				break
			}
			continue
		}
		if row.compare(from) <= 0 || row.compare(beyond) >= 0 {
			continue
		}
		if rows = append(rows, row); len(rows) >= 4*most { // seldom enough that sorting costs less than a heap
			rows = firstOf(rows, most)
			beyond = rows[most-1]
		}
	}
	if q.order != byName {
		rows = firstOf(rows, most)
	}
	return rows
}

// noneOpen is the key of a sequence without open reservations. It is greater than every time.
const noneOpen = math.MaxInt64

// key returns the place of a sequence in the order, which is not negative.
func (o listOrder) key(b fsm.Brief, left float64) float64 {
	switch {
	case o == byRemaining:
		return left
	case o == byOldest && b.Open == 0:
		return noneOpen
	case o == byOldest:
		return float64(max(b.OldestOpenMillis, 0)) // exact until the year 287396
	default:
		return 0
	}
}

func firstOf(rows []listRow, most int) []listRow {
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

// compare orders rows by their keys, and then by name.
func (r listRow) compare(other listRow) int {
	return cmp.Or(cmp.Compare(r.key, other.key), strings.Compare(r.name, other.name))
}

// from returns the row after which the page begins.
func (q listQuery) from() (listRow, error) {
	switch {
	case q.token == "":
		return listRow{key: -1}, nil
	case q.order == byName:
		return listRow{name: q.token}, nil
	}
	bits, name, found := strings.Cut(q.token, "~")
	n, err := strconv.ParseUint(bits, 16, 64)
	if key := math.Float64frombits(n); found && err == nil && key >= 0 && key <= q.order.last() {
		return listRow{name: name, key: key}, nil
	}
	return listRow{}, wire.Invalid("page_token: expected the next_page_token of a list with the same order")
}

// last returns the greatest key.
func (o listOrder) last() float64 {
	if o == byOldest {
		return noneOpen
	}
	return unbounded
}

func (q listQuery) tokenOf(r listRow) string {
	if q.order == byName {
		return r.name
	}
	return strconv.FormatUint(math.Float64bits(r.key), 16) + "~" + r.name
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
