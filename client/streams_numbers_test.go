package client

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// counting takes numbers of a sequence.
type counting struct {
	*Sequence
	mu   sync.Mutex
	seen map[int64]bool
}

// all has callers take numbers, and fails the test if a number comes twice. It returns the time of the slowest call.
func (s *counting) all(t *testing.T, callers, each int) (slowest time.Duration) {
	t.Helper()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				began := time.Now()
				n, err := s.Next(t.Context())
				took := time.Since(began)
				s.mu.Lock()
				if err != nil || s.seen[n] {
					t.Errorf("number %d, which was issued before: %t; %v", n, s.seen[n], err)
				}
				s.seen[n], slowest = true, max(slowest, took)
				s.mu.Unlock()
			}
		})
	}
	wg.Wait()
	return slowest
}

// numbersOn returns a sequence whose requests go on a stream to the first of two members.
func numbersOn(t *testing.T) (f *fakes, s *counting) {
	t.Helper()
	f = startFakes(t, 2)
	c := f.client(f.addrs())
	s = &counting{Sequence: c.Sequence("numbers"), seen: make(map[int64]bool)}
	for _, m := range f.members {
		until(t, "there is a stream to each member", func() bool {
			s.all(t, 1, 1)
			c.numberStreams.mu.Lock()
			defer c.numberStreams.mu.Unlock()
			c.numberStreams.current = nil
			return m.numbers.carried.Load() > 0
		})
	}
	c.numberStreams.mu.Lock()
	defer c.numberStreams.mu.Unlock()
	c.numberStreams.current, c.numberStreams.chosen = c.numberStreams.lines[f.members[0].addr], time.Now()
	return f, s
}

// A paused member, as after SIGSTOP, delays callers for less than the time that members may wait for a leader. Its answers after
// the pause reach no caller.
func TestNumbersOfPausedMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := numbersOn(t)
		resume := f.members[0].conns.pause()
		slowest := s.all(t, 20, 3)
		if want := probeAfter + memoryTimeout; slowest != want { // members may wait for a leader for longer: leaderPatience
			t.Errorf("the slowest call took %v, want %v", slowest, want)
		}
		resume()
		s.all(t, 20, 20)
	})
}

// Requests to a member that answers, but has to wait for a leader, are not repeated, because a repetition would leave gaps.
func TestNumbersOfWaitingMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const takes = probeAfter + memoryTimeout + 200*time.Millisecond
		f, s := numbersOn(t)
		f.members[0].numbers.takes.Store(int64(takes))
		asked := f.members[1].numbers.asked.Load()
		slowest := s.all(t, 1, 1)
		if repeated := f.members[1].numbers.asked.Load() - asked; slowest != takes || repeated != 0 {
			t.Errorf("the call took %v; %d requests were repeated at another member", slowest, repeated)
		}
	})
}
