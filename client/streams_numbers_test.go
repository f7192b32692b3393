package client

import (
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/race"
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
	// A busy machine may need longer than sameMember until the first request.
	c.numberStreams.current, c.numberStreams.chosen = c.numberStreams.lines[f.members[0].addr], time.Now().Add(time.Minute)
	return f, s
}

// A paused member, as after SIGSTOP, delays callers for less than the time that members may wait for a leader. Its answers after
// the pause reach no caller.
func TestNumbersOfPausedMember(t *testing.T) {
	t.Parallel()
	f, s := numbersOn(t)
	f.members[0].conns.read.Lock()
	slowest := s.all(t, 20, 3)
	most := 2 * time.Second // members may wait for a leader for longer: leaderPatience
	if race.Enabled {
		most = 3500 * time.Millisecond
	}
	if slowest < doubt || slowest > most {
		t.Errorf("the slowest call took %v, want %v to %v", slowest, doubt, most)
	}
	f.members[0].conns.read.Unlock()
	s.all(t, 20, 20)
}

// Requests to a member that answers, but has to wait for a leader, are not repeated, because a repetition would leave gaps.
func TestNumbersOfWaitingMember(t *testing.T) {
	t.Parallel()
	for range 3 { // on a busy machine, a member may be late with the answer that shows that it is there, but not each time
		f, s := numbersOn(t)
		waits := f.members[0]
		waits.numbers.takes.Store(int64(doubt + memoryPatience + 200*time.Millisecond))
		asked := f.members[1].numbers.asked.Load()
		slowest := s.all(t, 1, 1)
		repeated := f.members[1].numbers.asked.Load() - asked
		if slowest >= doubt+memoryPatience && repeated == 0 {
			return
		}
		t.Logf("the call took %v; %d requests were repeated at another member", slowest, repeated)
	}
	t.Error("requests were repeated each time")
}
