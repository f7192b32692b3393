package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/snowraft/snowraft/internal/rpc"
)

// source is a cluster that issues the numbers from 1 on, and remembers when.
type source struct {
	delay func() time.Duration
	short uint32 // ranges are no longer; 0: as long as the answer

	mu     sync.Mutex
	issued []time.Time // the ID is the index + 1
	asked  []uint64
	err    error
}

func (s *source) fetch(ctx context.Context, count uint64) ([]Range, error) {
	now := time.Now() // at the earliest
	if s.delay != nil {
		timer := time.NewTimer(s.delay())
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, count)
	if s.err != nil {
		return nil, s.err
	}
	var all []Range
	for left := uint32(count); left > 0; {
		n := left
		if s.short > 0 {
			n = min(n, 1+rand.N(s.short))
		}
		all = append(all, Range{First: uint64(len(s.issued)) + 1, Count: n, Step: 1})
		for range n {
			s.issued = append(s.issued, now)
		}
		left -= n
	}
	return all, nil
}

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *source) calls() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]uint64(nil), s.asked...)
}

func openBuffer(t *testing.T, s *source, opts ...BufferOption) *Buffer {
	t.Helper()
	b, err := newBuffer(s.fetch, 10*time.Second, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// Callers, the filler's answers and the sweeps come in any order: no ID is given twice or lost without being
// counted, and none is older than the age.
func TestBufferModel(t *testing.T) {
	for range 4 {
		for _, found := range walkBuffer(t) {
			t.Error(found)
		}
	}
}

// walkBuffer uses a buffer for a second, and returns what was wrong.
func walkBuffer(t *testing.T) (found []string) {
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
		given := make(map[uint64]bool)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for end.Err() == nil {
					time.Sleep(rand.N(10 * time.Millisecond))
					for range rand.N(50) {
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
		stats := b.Stats()
		if stats.Taken != uint64(len(given)) || stats.Taken+stats.Dropped != uint64(len(s.issued)) || stats.Level != 0 {
			complain("%d of %d IDs given, but %+v", len(given), len(s.issued), stats)
		}
		if len(given) < 1000 || stats.Dropped == 0 || stats.Waited == 0 || stats.Failures == 0 {
			t.Errorf("not much of a test: %d given, %+v", len(given), stats)
		}
	})
	return found
}

// The same with real threads: the sweeps race with callers.
func TestBufferHammer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := &source{short: 300}
	short := func(o *bufferOptions) error { o.age = 10 * time.Millisecond; return nil }
	b := openBuffer(t, s, WithBufferSize(2000, 20_000), WithBufferInterval(time.Millisecond), short)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // as many as there is time for
	defer cancel()
	given := make([][]uint64, 8)
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
		t.Errorf("%d of %d IDs given: %+v", taken, len(s.issued), stats)
	}
}

func TestBufferFillsAtTheThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		b := openBuffer(t, s, WithBufferSize(1000, 1000), WithBufferInterval(time.Hour), WithBufferAge(time.Hour))
		synctest.Wait()
		take := func(n int) {
			t.Helper()
			for range n {
				if _, err := b.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		take(699)
		if calls := s.calls(); len(calls) != 1 {
			t.Fatalf("asked for %d with 301 left", calls)
		}
		for round := range 3 { // the next marks lie in the middle of chunks, and in later ones
			take(1)
			if calls := s.calls(); len(calls) != round+2 || calls[round+1] != 700 {
				t.Fatalf("asked for %d with 300 left", calls)
			}
			take(699)
		}
		if stats := b.Stats(); stats.Level != 301 || stats.Waited != 0 || stats.Dropped != 0 || stats.Refills != 4 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestBufferFillsByTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		b := openBuffer(t, s, WithBufferSize(1000, 1000), WithBufferInterval(time.Second), WithBufferAge(time.Hour))
		synctest.Wait()
		if _, err := b.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if calls := s.calls(); len(calls) != 2 || calls[1] != 1 {
			t.Errorf("asked for %d", calls)
		}
	})
}

// Nobody waits when the load becomes ten-fold from one moment to the next, though the cluster takes 20 ms; the
// buffer grows with it, and shrinks afterwards.
func TestBufferLoadJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{delay: func() time.Duration { return 20 * time.Millisecond }}
		b := openBuffer(t, s)
		run := func(d time.Duration, each int) {
			t.Helper()
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
				for range each {
					if _, err := b.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		run(20*time.Second, 10)
		before := b.Stats()
		if before.Capacity < 40_000 || before.Capacity > 60_000 {
			t.Errorf("%+v after 10,000 a second", before)
		}
		run(time.Second, 100)
		if soon := b.Stats(); soon.Capacity < 300_000 {
			t.Errorf("%+v after a second of 100,000", soon)
		}
		run(10*time.Second, 100)
		after := b.Stats()
		if after.Waited != before.Waited {
			t.Errorf("%d callers waited", after.Waited-before.Waited)
		}
		if after.Capacity < 400_000 || after.Capacity > 600_000 {
			t.Errorf("%+v after 100,000 a second", after)
		}
		if part := float64(after.Dropped) / float64(after.Taken); part > 0.01 {
			t.Errorf("%v of the IDs were dropped: %+v", part, after)
		}
		time.Sleep(time.Minute)
		if idle := b.Stats(); idle.Capacity > 2*defaultMinBuffer {
			t.Errorf("%+v after a minute of nothing", idle)
		}
	})
}

func TestBufferWhenEmpty(t *testing.T) {
	down := errors.New("all members are down")
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: down}
		waits, fails := openBuffer(t, s), openBuffer(t, s, WithEmptyError())
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := waits.Next(ctx)
		for _, target := range []error{ErrEmpty, context.DeadlineExceeded, down} {
			if !errors.Is(err, target) {
				t.Errorf("%v is not %v", err, target)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("waited %v", took)
		}
		if err := waits.Ready(ctx); !errors.Is(err, down) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		began = time.Now()
		if _, err = waits.Next(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v without a deadline", err, time.Since(began))
		}
		began = time.Now()
		if _, err = fails.Next(t.Context()); !errors.Is(err, ErrEmpty) || !errors.Is(err, down) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}

		// Both recover by themselves, and whoever waits is served.
		got := make(chan error)
		go func() {
			_, err := waits.Next(t.Context())
			got <- err
		}()
		synctest.Wait()
		s.fail(nil)
		if err := <-got; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * longestRefillPause)
		if _, err := fails.Next(t.Context()); err != nil {
			t.Error(err)
		}

		// They go on with what they have.
		s.fail(down)
		for range 500 {
			if _, err := fails.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestBufferNeverToBeFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: &Error{Reason: rpc.UnknownLayout}}
		b := openBuffer(t, s)
		began := time.Now()
		if _, err := b.Next(t.Context()); !errors.Is(err, ErrUnknownLayout) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		s.fail(nil) // somebody creates it
		time.Sleep(longestRefillPause)
		if _, err := b.Next(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Synctest fails if a goroutine is left.
func TestBufferClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Bool
		s := &source{delay: func() time.Duration {
			if hang.Load() {
				return time.Hour
			}
			return 0
		}}
		b := openBuffer(t, s, WithBufferSize(10, 10), WithBufferThreshold(0))
		if err := b.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		hang.Store(true)
		got := make(chan error)
		go func() {
			for {
				if _, err := b.Next(t.Context()); err != nil {
					got <- err
					return
				}
			}
		}()
		synctest.Wait() // until it waits, and so does the filler
		for range 2 {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if _, err := b.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if err := b.Ready(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

func TestBufferOptions(t *testing.T) {
	for n, o := range []BufferOption{
		WithBufferSize(0, 10), WithBufferSize(10, 9), WithBufferSize(1, mostBuffered+1), WithBufferSpan(0), WithBufferAge(time.Millisecond),
		WithBufferThreshold(-0.1), WithBufferThreshold(1), WithBufferInterval(0),
	} {
		if b, err := newBuffer((&source{}).fetch, time.Second, []BufferOption{o}); err == nil {
			t.Errorf("option %d was taken", n)
			_ = b.Close()
		}
	}
}
