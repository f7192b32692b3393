package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const noon = 1_764_000_000_000 // 2025-11-24

// replica is a state machine that tests apply commands to.
type replica struct {
	*fsm.Machine
	tb    testing.TB
	index uint64
	now   int64 // clock of the commands; Unix ms
}

func newReplica(tb testing.TB) *replica {
	return &replica{Machine: fsm.New(fsm.Options{}), tb: tb, index: 1, now: noon}
}

func (r *replica) apply(cmd *commandv1.Command) {
	r.tb.Helper()
	cmd.ClockAtMs, cmd.Version = r.now, max(1, fsm.MinVersion(cmd))
	data, err := fsm.Encode(cmd)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.index++
	if result := r.Apply(&raft.Log{Index: r.index, Term: 1, Data: data}).(fsm.Result); result.Failure() != nil {
		r.tb.Fatal(result.Failure())
	}
}

// create creates a sequence from 1 to most, and grants some of its numbers.
func (r *replica) create(name string, most int64, granted uint64, reset commandv1.SequenceReset, period int32) {
	r.tb.Helper()
	spec := &commandv1.SequenceSpec{
		Name: name, Start: 1, Increment: 1, Min: 1, Max: most, Mode: commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: reset,
		BlockDurationMs: 10_000, MinBlock: 1, MaxBlock: 10_000_000, TimeZone: "UTC",
	}
	r.apply(&commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: spec, Period: period}}})
	if granted > 0 {
		r.allocate(name, granted, period)
	}
}

func (r *replica) allocate(name string, count uint64, period int32) {
	r.tb.Helper()
	q, _ := r.Sequence(name)
	r.apply(&commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
		Name: name, Generation: q.Generation, Count: count, Period: period,
	}}})
}

// reserve creates a gapless sequence, and reserves numbers for keys at a time.
func (r *replica) reserve(name string, at int64, keys ...string) {
	r.tb.Helper()
	r.now = at
	spec := &commandv1.SequenceSpec{
		Name: name, Start: 1, Increment: 1, Min: 1, Max: 1<<63 - 1, Mode: commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Reset_: never,
		BlockDurationMs: 10_000, MinBlock: 1, MaxBlock: 10_000_000, TimeZone: "UTC",
	}
	r.apply(&commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: spec}}})
	if q, _ := r.Sequence(name); len(keys) > 0 {
		r.apply(&commandv1.Command{Body: &commandv1.Command_ReserveNumbers{ReserveNumbers: &commandv1.ReserveNumbers{
			Name: name, Keys: keys, Generation: q.Generation,
		}}})
	}
}

const (
	never = commandv1.SequenceReset_SEQUENCE_RESET_NONE
	daily = commandv1.SequenceReset_SEQUENCE_RESET_DAILY
)

func (r *replica) lists() *sequenceLists {
	return &sequenceLists{listing: r.Listing, now: func() int64 { return noon }}
}

func namesOf(rows []listRow) string {
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	return strings.Join(names, " ")
}

func TestSequencesByNearestEnd(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	const noEnd = 1<<63 - 1
	r.create("half", 1000, 500, never, 0)
	r.create("Free", noEnd, 1000, never, 0)
	r.create("gone", 10, 10, never, 0)
	r.create("nearly", 1_000_000, 999_000, never, 0)
	r.create("today", 100, 90, daily, 20251124)
	r.create("yesterday", 100, 100, daily, 20251123)
	r.create("also-half", 10, 5, never, 0)
	lists, at := r.lists(), time.Hour
	for _, c := range []struct {
		q    listQuery
		want string
	}{
		{listQuery{order: byRemaining, size: 10}, "gone nearly today also-half half yesterday Free"},
		{listQuery{order: byRemaining, size: 2}, "gone nearly"},
		{listQuery{order: byRemaining, size: 10, contains: "f"}, "also-half half Free"},
		{listQuery{size: 10}, "Free also-half gone half nearly today yesterday"},
		{listQuery{size: 10, contains: "day"}, "today yesterday"},
		{listQuery{size: 10, token: "half"}, "nearly today yesterday"},
		{listQuery{size: 10, contains: "nothing"}, ""},
	} {
		got, err := lists.list(c.q, at)
		if err != nil || namesOf(got.rows) != c.want {
			t.Errorf("list(%+v) = %s, %v, want %s", c.q, namesOf(got.rows), err, c.want)
		}
	}
	for _, token := range []string{"x", "zz~a", "7ff8000000000000~a", "~", "ffffffffffffffff~", "4008000000000000~a"} {
		if _, err := lists.list(listQuery{order: byRemaining, size: 1, token: token}, at); err == nil {
			t.Errorf("token %q: no error", token)
		}
	}
}

func TestSequencesByOldestReservation(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	r.apply(&commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: fsm.DocumentVersion}}})
	r.create("strict", 10, 10, never, 0)
	r.reserve("none", noon)
	r.reserve("old", noon+1000, "k1", "k2")
	r.reserve("middle", noon+2000, "k1")
	r.reserve("young", noon+3000, "k1")
	lists, q := r.lists(), listQuery{order: byOldest, size: 2}
	for _, want := range []string{"old middle", "young none", "strict"} {
		page, err := lists.list(q, time.Hour)
		if err != nil || namesOf(page.rows) != want {
			t.Errorf("list(%+v) = %s, %v, want %s", q, namesOf(page.rows), err, want)
		}
		q.token = page.next
	}
	if q.token != "" {
		t.Errorf("next page %q after the last one", q.token)
	}
	for _, token := range []string{"x", "7ff0000000000000~a", "bff0000000000000~a"} {
		if _, err := lists.list(listQuery{order: byOldest, size: 1, token: token}, time.Hour); err == nil {
			t.Errorf("token %q: no error", token)
		}
	}
}

func TestPagesHoldEachSequenceOnce(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	type want struct {
		left float64
		name string
	}
	var wants []want
	for i := range 500 {
		name, granted := fmt.Sprintf("s%03d", i*7%500), uint64(i*i%97)
		r.create(name, 100, granted, never, 0)
		wants = append(wants, want{float64(100-granted) / 100, name})
	}
	slices.SortFunc(wants, func(a, b want) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.name, b.name)) })
	for _, order := range []listOrder{byRemaining, byName} {
		if order == byName {
			slices.SortFunc(wants, func(a, b want) int { return cmp.Compare(a.name, b.name) })
		}
		lists := r.lists()
		q, seen := listQuery{order: order, size: 7}, 0
		for {
			page, err := lists.list(q, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page.rows {
				if w := wants[seen]; row.name != w.name || row.left != w.left {
					t.Fatalf("row %d is %+v, want %+v", seen, row, w)
				}
				seen++
			}
			if q.token = page.next; q.token == "" {
				break
			}
		}
		if seen != 500 {
			t.Errorf("order %v: %d rows, want 500", order, seen)
		}
	}
}

// Any number of viewers costs one listing, and at most listsKept lists are kept.
func TestListsAreComputedOncePerListing(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	r.create("a", 100, 0, never, 0)
	lists, taken := r.lists(), 0
	lists.listing = func() fsm.Listing { taken++; return r.Listing() }
	at := time.Hour
	for i := range 200 {
		if _, err := lists.list(listQuery{order: byRemaining, size: 1 + i%100}, at+time.Duration(i)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if taken != 1 || len(lists.kept) != listsKept {
		t.Errorf("%d listings, %d lists kept, want 1 and %d", taken, len(lists.kept), listsKept)
	}
	r.allocate("a", 60, 0)
	if got, _ := lists.list(listQuery{order: byRemaining, size: 1}, at+listingAge); got.rows[0].left != 0.4 {
		t.Errorf("rows after listingAge = %+v, want 0.4 left", got.rows)
	}
}

func TestRateMeasuresGrantedNumbers(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	r.create("a", 1000, 0, never, 0)
	var rates rates
	const began = time.Hour
	look := func(after time.Duration) string {
		s, _ := r.Sequence("a")
		per, over, ok := rates.rate(s, began+after)
		return fmt.Sprint(per, over, ok)
	}
	if got := look(0); got != "0 0s false" {
		t.Errorf("first look = %s, want no rate", got)
	}
	r.allocate("a", 30, 0)
	if got := look(2 * time.Second); got != "15 2s true" {
		t.Errorf("second look = %s, want 15 per second over 2 s", got)
	}
	for i := range 40 {
		r.allocate("a", 10, 0)
		look(time.Duration(i+3) * time.Second)
	}
	if got := look(42 * time.Second); got != "10 30s true" {
		t.Errorf("look after the window = %s, want 10 per second over 30 s", got)
	}
	if n := len(rates.known["a"].looks); n > 32 {
		t.Errorf("%d looks kept, want at most 32", n)
	}
	for i := range 2 * ratesKept {
		s, _ := r.Sequence("a")
		s.Spec.Name = fmt.Sprint(i)
		rates.rate(s, began+43*time.Second)
	}
	if len(rates.known) > ratesKept {
		t.Errorf("%d rates kept, want at most %d", len(rates.known), ratesKept)
	}
}

// BenchmarkNearestEnd computes a page of 100,000 sequences.
func BenchmarkNearestEnd(b *testing.B) {
	r := newReplica(b)
	for i := range 100_000 {
		r.create(fmt.Sprintf("tenant/%06d/orders", i), 1000, uint64(i*7919%1000), never, 0)
	}
	for name, q := range map[string]listQuery{
		"nearest": {order: byRemaining, size: 50}, "name": {size: 50}, "search": {size: 50, contains: "no such"}, "search-nearest": {order: byRemaining, size: 50, contains: "99"},
	} {
		b.Run(name, func(b *testing.B) {
			lists := r.lists()
			at := time.Hour
			b.ReportAllocs()
			for b.Loop() {
				at += listingAge
				if _, err := lists.list(q, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
