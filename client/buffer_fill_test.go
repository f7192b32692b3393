package client

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
)

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
			t.Fatalf("requests with 301 IDs left: %d", calls)
		}
		for round := range 3 { // the next marks are in the middle of chunks and in later chunks
			take(1)
			if calls := s.calls(); len(calls) != round+2 || calls[round+1] != 700 {
				t.Fatalf("requests with 300 IDs left: %d", calls)
			}
			take(699)
		}
		if stats := b.Stats(); stats.Level != 301 || stats.Waited != 0 || stats.Dropped != 0 || stats.Refills != 4 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestBufferFillsByTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		b := openBuffer(t, s, WithBufferSize(1000, 1000), WithBufferInterval(time.Second), WithBufferAge(time.Hour))
		synctest.Wait()
		if _, err := b.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if calls := s.calls(); len(calls) != 2 || calls[1] != 1 {
			t.Errorf("requests: %d", calls)
		}
	})
}

// No caller waits when the load suddenly grows ten-fold, although the cluster takes 20 ms to answer. The
// buffer grows with the load and shrinks afterwards.
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
			t.Errorf("%+v after 10,000 per second", before)
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
			t.Errorf("%+v after 100,000 per second", after)
		}
		if part := float64(after.Dropped) / float64(after.Taken); part > 0.01 {
			t.Errorf("%v of the IDs were dropped: %+v", part, after)
		}
		time.Sleep(time.Minute)
		if idle := b.Stats(); idle.Capacity > 2*defaultMinBuffer {
			t.Errorf("%+v after a minute without callers", idle)
		}
	})
}

func TestBufferCannotBeFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: &Error{Reason: rpc.UnknownLayout}}
		b := openBuffer(t, s)
		began := time.Now()
		if _, err := b.Next(t.Context()); !errors.Is(err, ErrUnknownLayout) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		s.fail(nil) // another client creates it
		time.Sleep(longestRefillPause)
		if _, err := b.Next(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
