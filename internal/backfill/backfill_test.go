package backfill

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

const epoch = int64(1_420_070_400_000)

var small = snowflake.MustNew(snowflake.Spec{
	Name: "small", UnitMillis: 10, EpochMillis: epoch, Spread: 8, Past: true, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: 2}, {Field: snowflake.FieldSequence, Bits: 3},
	},
})

func parts(id uint64) snowflake.Parts {
	p, _ := small.Unpack(id)
	return p
}

func assign(t *testing.T, j Job, within time.Duration, times ...int64) []uint64 {
	t.Helper()
	for i := range times {
		times[i] += epoch
	}
	ids, next, err := j.Assign(times, within)
	if err != nil {
		t.Fatal(err)
	}
	if last := parts(ids[len(ids)-1]); next != last.Tick*8+int64(last.Sequence)+1 {
		t.Errorf("the next place is %d, after %+v", next, last)
	}
	return ids
}

// TestAssign draws streams of rows in batches: all IDs are distinct, ascend, and have the times of their rows.
func TestAssign(t *testing.T) {
	for seed := range uint64(200) {
		draw := rand.New(rand.NewPCG(seed, 0))
		j, last := Job{Layout: small, Worker: draw.Uint64N(4), Border: 1000}, uint64(0)
		tick := int64(0)
		for range 20 {
			var times []int64
			for range 1 + draw.IntN(6) {
				if tick+1 < j.Border && (draw.IntN(3) > 0 || j.Place/8 > tick || len(times) == 0) {
					tick += 1 + draw.Int64N(3)
				}
				times = append(times, epoch+tick*10+draw.Int64N(10))
			}
			slices.Sort(times)
			ids, next, err := j.Assign(times, 0)
			if err != nil {
				t.Fatalf("seed %d: %v at %+v: %v", seed, times, j, err)
			}
			for i, id := range ids {
				if p := parts(id); id <= last || p.Tick != small.TickAt(times[i]) || p.Worker != j.Worker {
					t.Fatalf("seed %d: row at %d got %+v after ID %d", seed, times[i]-epoch, p, last)
				}
				last = id
			}
			again, _, _ := j.Assign(times, 0)
			if !slices.Equal(ids, again) {
				t.Fatal("the same request got other IDs")
			}
			j.Place = next
		}
	}
}

func TestAssignFillsATick(t *testing.T) {
	j := Job{Layout: small, Worker: 1, Border: 1000}
	for range 2 {
		ids := assign(t, j, 0, 70, 71, 72, 73, 74, 75, 76, 79, 80)
		if p := parts(ids[0]); p.Sequence != 0 || p.Tick != 7 {
			t.Errorf("the first ID is %+v", p)
		}
		j.Worker = 2
	}
	_, _, err := j.Assign(slices.Repeat([]int64{epoch + 70}, 9), 0)
	if e, ok := errors.AsType[*RowError](err); !ok || e.Row != 8 || !strings.Contains(e.Detail, "--within") {
		t.Errorf("nine rows in a tick of eight IDs: %v", err)
	}
	ids := assign(t, j, 10*time.Millisecond, 70, 70, 70, 70, 70, 70, 70, 70, 70)
	if p := parts(ids[8]); p.Tick != 8 {
		t.Errorf("the ninth ID is %+v, want the next tick", p)
	}
}

// TestAssignIssuesNoZero: the first place of job 0 is ID 0.
func TestAssignIssuesNoZero(t *testing.T) {
	if ids := assign(t, Job{Layout: small, Border: 1000}, 0, 0, 1); !slices.Equal(ids, []uint64{1, 2}) {
		t.Errorf("IDs %d, want 1 and 2", ids)
	}
}

// TestAssignSpreads: single rows reach every shard.
func TestAssignSpreads(t *testing.T) {
	var times []int64
	for tick := range int64(100) {
		times = append(times, tick*10)
	}
	seen := map[uint64]bool{}
	for _, id := range assign(t, Job{Layout: small, Worker: 1, Border: 1000}, 0, times...) {
		seen[id%8] = true
	}
	if len(seen) != 8 {
		t.Errorf("the IDs reach the shards %v of 8", seen)
	}
}

func TestAssignRefuses(t *testing.T) {
	for _, c := range []struct {
		times  []int64
		within time.Duration
		row    int
		want   string
	}{
		{[]int64{100, -1}, 0, 1, "before the epoch"},
		{[]int64{-1}, time.Hour, 0, "before the epoch"},
		{[]int64{9999, 10_000}, 0, 1, "not in the past"},
		{[]int64{200, 100}, time.Hour, 1, "before the time of the row before"},
		{[]int64{50}, 0, 0, "before the position of backfill job 1"},
		{slices.Repeat([]int64{9990}, 9), time.Hour, 8, "more rows than the 8 IDs"},
	} {
		for i := range c.times {
			c.times[i] += epoch
		}
		_, _, err := Job{Layout: small, Worker: 1, Place: 80, Border: 1000}.Assign(c.times, c.within)
		if e, ok := errors.AsType[*RowError](err); !ok || e.Row != c.row || !strings.Contains(e.Detail, c.want) {
			t.Errorf("%v: %v, want %q about row %d", c.times, err, c.want, c.row)
		}
	}
}
