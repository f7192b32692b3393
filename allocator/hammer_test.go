package allocator_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

// record is one answer, with the moments of its request and its arrival, by a counter that all goroutines
// share.
type record struct {
	asked, answered int64
	ids             []uint64
}

func sometimes(oneIn int) error {
	if rand.IntN(oneIn) == 0 {
		return errDown
	}
	return nil
}

// Many goroutines run on real time and real processors, while windows are short and replies get lost, so that
// workers are lost too.
func TestHammer(t *testing.T) {
	for _, lanes := range []int{1, 4} {
		layout := shape("narrow", 1, "time:41,worker:10,sequence:6", someDay.AddDate(-1, 0, 0))
		c := newCluster(layout)
		c.maxWindow = 60 * time.Millisecond
		c.before = func(call) error { return sometimes(10) }
		c.after = func(k call) error {
			if k.kind == "extend" {
				return sometimes(5)
			}
			return nil
		}
		nonce := allocator.Nonce{1}
		i, err := allocator.Open(allocator.Config{
			Layout: layout, Holder: "hammer", Nonce: nonce, Lanes: lanes, Granter: c,
			Watch: clock.NewWatch(clock.System(), nil, clock.Limits{WaitThreshold: 10 * time.Second, MaxOffset: 10 * time.Second}),
		})
		if err != nil {
			t.Fatal(err)
		}

		var order atomic.Int64
		records := make([][]record, 8)
		ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		var wg sync.WaitGroup
		for g := range records {
			wg.Go(func() {
				var last uint64
				for ctx.Err() == nil {
					var after uint64
					if rand.IntN(3) == 0 {
						after = last
					}
					count := uint32(1)
					if rand.IntN(20) == 0 {
						count += rand.Uint32N(1000)
					}
					r := record{asked: order.Add(1)}
					var err error
					if count == 1 {
						var id uint64
						if id, err = i.Next(ctx, after); err == nil {
							r.ids = []uint64{id}
						}
					} else {
						var ranges []allocator.Range
						ranges, err = i.Take(ctx, nil, count, after)
						r.ids = expand(ranges)
					}
					r.answered = order.Add(1)
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
						return
					}
					for _, id := range r.ids {
						if id <= after {
							t.Errorf("%d is not above %d", id, after)
						}
						last = id
					}
					if len(r.ids) > 0 {
						records[g] = append(records[g], r)
					}
				}
			})
		}
		wg.Wait()
		cancel()
		if err := i.Close(context.Background()); err != nil && !errors.Is(err, errDown) {
			t.Error(err)
		}
		audit(t, c, layout, nonce, slices.Concat(records...))
	}
}

func audit(t *testing.T, c *cluster, layout *snowflake.Layout, nonce allocator.Nonce, records []record) {
	t.Helper()
	type cell struct {
		worker uint64
		tick   int64
	}
	seen, granted := map[uint64]bool{}, map[cell]bool{}
	type answer struct {
		asked, answered int64
		low, high       uint64
	}
	perWorker := map[uint64][]answer{}
	for _, r := range records {
		bounds := map[uint64]answer{}
		for _, id := range r.ids {
			p, err := layout.Unpack(id)
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				t.Fatalf("%d was issued twice: %+v", id, p)
			}
			seen[id] = true
			if k := (cell{p.Worker, p.Tick}); !granted[k] {
				if granted[k] = c.covers(p.Worker, p.Tick, nonce); !granted[k] {
					t.Fatalf("%+v is outside of every window", p)
				}
			}
			b, ok := bounds[p.Worker]
			if !ok {
				b = answer{r.asked, r.answered, id, id}
			}
			b.low, b.high = min(b.low, id), max(b.high, id)
			bounds[p.Worker] = b
		}
		for w, b := range bounds {
			perWorker[w] = append(perWorker[w], b)
		}
	}
	if len(seen) < 1000 {
		t.Fatalf("only %d IDs", len(seen))
	}
	// An ID that was returned before another request was made is below that request's ID.
	for w, asked := range perWorker {
		answered := slices.Clone(asked)
		slices.SortFunc(asked, func(a, b answer) int { return cmp.Compare(a.asked, b.asked) })
		slices.SortFunc(answered, func(a, b answer) int { return cmp.Compare(a.answered, b.answered) })
		var highest uint64
		k := 0
		for _, a := range asked {
			for ; answered[k].answered < a.asked; k++ {
				highest = max(highest, answered[k].high)
			}
			if a.low <= highest {
				t.Fatalf("worker %d: %d was issued after %d", w, a.low, highest)
			}
		}
	}
	t.Logf("%d IDs in %d requests on %d workers", len(seen), len(records), len(perWorker))
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	for _, lanes := range []int{1, 4} {
		i := openReal(t, wide(), lanes)
		ctx := context.Background()
		var last uint64
		ranges := make([]allocator.Range, 0, 16)
		for name, f := range map[string]func() error{
			"next":       func() (err error) { last, err = i.Next(ctx, 0); return err },
			"next after": func() (err error) { last, err = i.Next(ctx, last); return err },
			"take": func() error {
				r, err := i.Take(ctx, ranges[:0], 100, 0)
				if len(r) > 16 {
					return errors.New("too many ranges")
				}
				return err
			},
		} {
			if n := testing.AllocsPerRun(1000, func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("%s with %d lanes: %v allocations", name, lanes, n)
			}
		}
	}
}
