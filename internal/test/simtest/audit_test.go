package simtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/snowflake"
)

// audit records every ID that a process issued. It depends on no part of the implementation
// except the packing of IDs by a layout.
type audit struct {
	layout *snowflake.Layout
	// mayBeAhead is the limit of the time by which IDs and the observed clock are ahead
	// of the true time, a time.Duration.
	mayBeAhead atomic.Int64

	mu      sync.Mutex
	starts  []string     // names of all processes
	taken   []taken      // ranges in order of issue
	cells   map[cell]int // index of the cell's last entry in taken, plus one
	high    uint64       // greatest ID
	ids     uint64
	refused int // refused requests
	faults  []string
}

// cell is one tick of a worker.
type cell struct {
	worker uint64
	tick   int64
}

// taken is a range of sequences, [from, until), of a cell that a process issued.
type taken struct {
	cell
	from, until uint64
	start       int
	before      int // index of the previous entry of the cell, plus one
}

func newAudit(l *snowflake.Layout) *audit {
	a := &audit{layout: l, cells: make(map[cell]int)}
	a.mayBeAhead.Store(int64(500*time.Millisecond + 5*time.Millisecond)) // --max-clock-offset and --max-ahead
	return a
}

func (a *audit) ahead() time.Duration { return time.Duration(a.mayBeAhead.Load()) }

// begin returns the number of a new start of a process.
func (a *audit) begin(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.starts = append(a.starts, name)
	return len(a.starts) - 1
}

func (a *audit) name(start int) string { return fmt.Sprintf("%s (start %d)", a.starts[start], start) }

// fault records a fault.
func (a *audit) fault(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note(format, args...)
}

func (a *audit) note(format string, args ...any) {
	if len(a.faults) < 20 {
		a.faults = append(a.faults, fmt.Sprintf("at %v: ", time.Since(someDay))+fmt.Sprintf(format, args...))
	}
}

// newest returns the greatest issued ID.
func (a *audit) newest() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.high
}

// refuse counts a refused request.
func (a *audit) refuse() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused++
}

// add records the answer of a process to a request with a floor.
func (a *audit) add(p *process, ranges []allocator.Range, after uint64) {
	latest := time.Now().Add(a.ahead()).UnixMilli()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range ranges {
		parts, err := a.layout.Unpack(r.First)
		if err != nil {
			a.note("%s issued %d, which is not an ID: %v", a.name(p.start), r.First, err)
			continue
		}
		if r.First <= after {
			a.note("%s issued %d, which is not above %d", a.name(p.start), r.First, after)
		}
		if ms := a.layout.MillisAt(parts.Tick); ms > latest {
			a.note("%s issued %d, which is %d ms beyond the allowed offset", a.name(p.start), r.First, ms-latest)
		}
		a.ids += uint64(r.Count)
		a.high = max(a.high, r.First+uint64(r.Count-1)*r.Step)
		a.take(taken{
			cell: cell{parts.Worker, parts.Tick},
			from: parts.Sequence, until: parts.Sequence + uint64(r.Count), start: p.start,
		})
	}
}

// take records a range, and a fault if a part of it was issued before.
func (a *audit) take(t taken) {
	t.before = a.cells[t.cell]
	for i := t.before; i > 0; i = a.taken[i-1].before {
		if o := a.taken[i-1]; t.from < o.until && o.from < t.until {
			a.note("worker %d, tick %d: %s issued sequences [%d, %d), and %s had issued [%d, %d)",
				t.worker, t.tick, a.name(t.start), t.from, t.until, a.name(o.start), o.from, o.until)
			break
		}
	}
	a.taken = append(a.taken, t)
	a.cells[t.cell] = len(a.taken)
}

// granted checks that each ID lies in a window of the state s, and that each
// process's windows were granted to that process only: to one nonce that no other process has.
func (a *audit) granted(s *fsm.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	nonces := make(map[int]fsm.GrantRecord) // nonces by start
	owners := make(map[[32]byte]int)        // starts by nonce hash
	last := make([]fsm.GrantRecord, len(a.starts))
	for _, t := range a.taken {
		g := last[t.start]
		if g.Token == 0 || g.Worker != t.worker || t.tick < g.From || t.tick >= g.Until {
			var ok bool
			if g, ok = s.WhoIs(a.layout.Name(), t.worker, t.tick); !ok {
				a.note("%s issued at tick %d of worker %d, outside of every window", a.name(t.start), t.tick, t.worker)
				continue
			}
			last[t.start] = g
		}
		first, seen := nonces[t.start]
		if !seen {
			nonces[t.start], first = g, g
		}
		owner, owned := owners[g.NonceHash]
		if !owned {
			owners[g.NonceHash], owner = t.start, t.start
		}
		if g.NonceHash != first.NonceHash || owner != t.start {
			a.note("%s issued at tick %d of worker %d, in a window of %s of %s",
				a.name(t.start), t.tick, t.worker, g.Holder, a.name(owner))
		}
	}
}
