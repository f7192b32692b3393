//go:build process

package processtest

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// entry is a range of IDs that a client got: all from first to last.
type entry struct {
	first, last  uint64
	member       *member
	began, ended time.Time // times of the request
}

// ledger records all issued IDs of one layout.
type ledger struct {
	layout *snowflake.Layout
	mu     sync.Mutex
	all    []entry
	total  uint64
}

func newLedger() *ledger { return &ledger{layout: snowflake.Default()} }

// add records an answer.
func (l *ledger) add(m *member, began time.Time, resp *snowraftv1.GenerateIdsResponse) {
	ended := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range resp.GetRanges() {
		count := uint64(r.GetCount())
		first := uint64(r.GetFirst())
		l.all = append(l.all, entry{first, first + (count-1)*uint64(r.GetStep()), m, began, ended})
		l.total += count
	}
}

// ask requests IDs from a member and records them.
func (l *ledger) ask(m *member, count uint32) error {
	began := time.Now()
	resp, err := m.generate(l.layout.Name(), count)
	if err == nil {
		l.add(m, began, resp)
	}
	return err
}

// mustAsk calls ask, and fails the test if the member does not answer.
func (l *ledger) mustAsk(m *member, count uint32) {
	m.t.Helper()
	if err := l.ask(m, count); err != nil {
		m.t.Errorf("%s: %v", m.name, err)
	}
}

// checkUnique fails the test if an ID was issued twice, or if no ID was issued.
func (l *ledger) checkUnique(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.layout.Step() != 1 {
		t.Fatalf("IDs of layout %s are %d apart", l.layout.Name(), l.layout.Step())
	}
	if a, b := twice(l.all); a != nil {
		t.Fatalf("ID %d was issued twice: by %s at %v and by %s at %v", b.first, a.member.name, a.ended, b.member.name, b.ended)
	}
	if l.total == 0 {
		t.Fatal("no ID was issued")
	}
	t.Logf("%d IDs of layout %s in %d ranges, all different", l.total, l.layout.Name(), len(l.all))
}

// twice sorts entries and returns two entries that share the
// first ID of b; nil if there are none. The comparison of ranges is complete if the
// sequence is the lowest field of the layout, because a range then has no gaps.
func twice(entries []entry) (a, b *entry) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(entries); i++ {
		if a, b := &entries[i-1], &entries[i]; b.first <= a.last {
			return a, b
		}
	}
	return nil, nil
}

// lanes groups the entries by the lane that issued them, according to the members' grants. The
// token of a grant stands for one lane of one process. lanes fails the test if an
// ID lies outside the windows granted under its token, or if a member other than
// the holder issued the ID.
func (l *ledger) lanes(t *testing.T, askAt *member) map[uint64][]entry {
	t.Helper()
	grants := make(map[uint64][]*snowraftv1.WorkerGrant) // grants by worker
	lanes := make(map[uint64][]entry)
	for _, e := range l.all {
		p, err := l.layout.Unpack(e.first)
		if err != nil {
			t.Fatal(err)
		}
		end, err := l.layout.Unpack(e.last)
		if err != nil || end.Tick != p.Tick || end.Worker != p.Worker {
			t.Fatalf("the range from %d to %d is not within one tick of one worker", e.first, e.last)
		}
		i := slices.IndexFunc(grants[p.Worker], func(g *snowraftv1.WorkerGrant) bool { return g.GetFromTick() <= p.Tick && p.Tick < g.GetUntilTick() })
		if i < 0 {
			resp, err := askAt.ids.WhoIs(t.Context(), &snowraftv1.WhoIsRequest{Id: int64(e.first), Layout: l.layout.Name()})
			if err != nil {
				t.Fatalf("ID %d of worker %d from %s: %v", e.first, p.Worker, e.member.name, err)
			}
			g := resp.GetGrant()
			if p.Tick < g.GetFromTick() || p.Tick >= g.GetUntilTick() || g.GetWorker() != p.Worker {
				t.Fatalf("ID %d of worker %d at tick %d: the grant is of worker %d, ticks %d to %d",
					e.first, p.Worker, p.Tick, g.GetWorker(), g.GetFromTick(), g.GetUntilTick())
			}
			i = len(grants[p.Worker])
			grants[p.Worker] = append(grants[p.Worker], g)
		}
		g := grants[p.Worker][i]
		if g.GetHolder() != e.member.name+"/0" {
			t.Fatalf("%s issued ID %d of a window that was granted to %s", e.member.name, e.first, g.GetHolder())
		}
		lanes[g.GetToken()] = append(lanes[g.GetToken()], e)
	}
	return lanes
}

// checkOrder fails the test if a lane issued an ID that is not greater than all IDs of
// requests, of any client, that had ended before the request for the ID began.
func checkOrder(t *testing.T, lane []entry) {
	t.Helper()
	if e, above := descent(lane); e != nil {
		t.Fatalf("%s issued ID %d after %d of the same lane", e.member.name, e.first, above)
	}
}

// descent returns an entry of a lane that is not above all IDs answered
// before its request, and the highest of these IDs; nil if there is none.
func descent(lane []entry) (e *entry, above uint64) {
	byBegin, byEnd := slices.Clone(lane), slices.Clone(lane)
	slices.SortFunc(byBegin, func(a, b entry) int { return a.began.Compare(b.began) })
	slices.SortFunc(byEnd, func(a, b entry) int { return a.ended.Compare(b.ended) })
	var highest uint64
	done := 0
	for i, e := range byBegin {
		for ; done < len(byEnd) && byEnd[done].ended.Before(e.began); done++ {
			highest = max(highest, byEnd[done].last)
		}
		if e.first <= highest {
			return &byBegin[i], highest
		}
	}
	return nil, 0
}

// TestLedger checks that the ledger finds faults.
func TestLedger(t *testing.T) {
	t.Parallel()
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	ascending := []entry{{10, 19, nil, at(1), at(3)}, {20, 20, nil, at(2), at(4)}, {21, 40, nil, at(5), at(6)}}
	if a, b := twice(slices.Clone(ascending)); a != nil {
		t.Errorf("twice() = %v, %v; want none", a, b)
	}
	if e, above := descent(ascending); e != nil {
		t.Errorf("descent() = %v, %d; want none", e, above)
	}
	for _, more := range []entry{{first: 40, last: 41}, {first: 9, last: 10}, {first: 15, last: 15}, {first: 1, last: 99}} {
		if a, _ := twice(append(slices.Clone(ascending), more)); a == nil {
			t.Errorf("twice() did not find the repeated IDs from %d to %d", more.first, more.last)
		}
	}
	if e, _ := descent(append(ascending, entry{30, 30, nil, at(7), at(8)})); e == nil || e.first != 30 {
		t.Errorf("descent() = %v, want the entry of ID 30", e)
	}
}
