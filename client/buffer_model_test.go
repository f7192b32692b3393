package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// Callers, the filler's answers and the sweeps come in any order: no ID is returned twice or lost without being
// counted, and no ID is older than the age.
func TestBufferModel(t *testing.T) {
	var all BufferStats
	walks := depth.Little(4, 8)
	for i := range walks {
		callers, pause, most := 20, 10*time.Millisecond, 50
		if i%2 > 0 { // few callers leave the IDs until they are old
			callers, pause, most = 2, 15*time.Millisecond, 3
		}
		found, stats := walkBuffer(t, callers, pause, most)
		for _, f := range found {
			t.Error(f)
		}
		all.Taken += stats.Taken
		all.Dropped += stats.Dropped
		all.Waited += stats.Waited
		all.Failures += stats.Failures
	}
	if all.Taken < uint64(500*walks) || all.Dropped == 0 || all.Waited == 0 || all.Failures == 0 {
		t.Errorf("too few events for a test: %+v", all)
	}
}

// walkBuffer uses a buffer for 1 s. Each caller takes fewer IDs than most after each pause. It returns the violations found and
// the counters of the buffer.
func walkBuffer(t *testing.T, callers int, pause time.Duration, most int) (found []string, stats BufferStats) {
	synctest.Test(t, func(t *testing.T) {
		var complaints sync.Mutex
		complain := func(format string, args ...any) {
			complaints.Lock()
			defer complaints.Unlock()
			found = append(found, fmt.Sprintf(format, args...))
		}
		const age = 100 * time.Millisecond
		s := &source{short: 200, delay: func() time.Duration { return rand.N(30 * time.Millisecond) }}
		b := openBuffer(t, s, WithBufferSize(10, 5000), WithBufferAge(age), WithBufferInterval(20*time.Millisecond))
		end, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		var mu sync.Mutex
		given := make(map[int64]bool)
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for end.Err() == nil {
					time.Sleep(rand.N(pause))
					for range rand.N(most) {
						ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
						id, err := b.Next(ctx)
						cancel()
						if err != nil {
							if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrEmpty) {
								complain("%v", err)
							}
							continue
						}
						s.mu.Lock()
						old := time.Since(s.issued[id-1])
						s.mu.Unlock()
						if old > age+time.Millisecond {
							complain("an ID is %v old", old)
						}
						mu.Lock()
						if given[id] {
							complain("ID %d twice", id)
						}
						given[id] = true
						mu.Unlock()
					}
				}
			})
		}
		all.Go(func() {
			for end.Err() == nil {
				time.Sleep(rand.N(300 * time.Millisecond))
				s.fail(errors.New("no"))
				time.Sleep(rand.N(100 * time.Millisecond))
				s.fail(nil)
			}
		})
		all.Wait()
		if err := b.Close(); err != nil {
			complain("%v", err)
		}
		stats = b.Stats()
		if stats.Taken != uint64(len(given)) || stats.Taken+stats.Dropped != uint64(len(s.issued)) || stats.Level != 0 {
			complain("%d of %d IDs returned, but %+v", len(given), len(s.issued), stats)
		}
	})
	return found, stats
}

// TestBufferHammer checks the same with real threads: the sweeps race with callers.
func TestBufferHammer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := &source{short: 300}
	o, err := newBufferOptions([]BufferOption{WithBufferSize(2000, 20_000), WithBufferInterval(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	o.age, o.span = 10*time.Millisecond, 5*time.Millisecond
	b := openBufferWith(t, s, o)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // duration of all rounds
	defer cancel()
	given := make([][]int64, 8)
	var all sync.WaitGroup
	for g := range given {
		all.Go(func() {
			for len(given[g])%1000 > 0 || ctx.Err() == nil {
				id, err := b.Next(ctx)
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					return
				}
				given[g] = append(given[g], id)
			}
		})
	}
	all.Wait()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	twice := make([]bool, len(s.issued)+1)
	var taken uint64
	for _, ids := range given {
		taken += uint64(len(ids))
		for _, id := range ids {
			if twice[id] {
				t.Fatalf("ID %d twice", id)
			}
			twice[id] = true
		}
	}
	if stats := b.Stats(); stats.Taken != taken || stats.Taken+stats.Dropped != uint64(len(s.issued)) {
		t.Errorf("%d of %d IDs returned: %+v", taken, len(s.issued), stats)
	}
}
