package allocator

import (
	"math/rand/v2"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
)

const (
	firstWindow = 2 * time.Second

	minBackoff = 50 * time.Millisecond
	maxBackoff = time.Second
)

// slowStart decides how long a window to ask for: 2 s at first, twice as much
// after each extension, up to what the cluster grants. A process that crashes
// in a loop so discards seconds of a worker, while a stable one gets windows that
// outlast a long outage. (The idea is TCP's, RFC 5681.)
//
// A process that takes another worker has shown already that it is none that crashes: the
// first window is short again, in case its reply gets lost, and the next as long as one was before.
type slowStart struct {
	current time.Duration
	reached time.Duration // the longest so far, on any worker
	max     time.Duration
}

// begin starts over with a new worker.
func (s *slowStart) begin(grantMax time.Duration) {
	s.current = firstWindow
	s.limit(grantMax)
}

// next is the window to ask for in an extension.
func (s *slowStart) next() time.Duration { return min(max(2*s.current, s.reached), s.max) }

// extended notes that an extension was granted.
func (s *slowStart) extended(grantMax time.Duration) {
	s.current = s.next()
	s.reached = max(s.reached, s.current)
	s.limit(grantMax)
}

func (s *slowStart) limit(grantMax time.Duration) {
	s.max = limits.DefaultWindow
	if grantMax > 0 {
		s.max = grantMax
	}
}

// extendAfter is when to extend a window of which that much is left: at 0.50 to
// 0.55 of it, at random, so that lanes that began together do not stay together.
// What is left is not believed to be more than what was requested, because a
// clock that moved backwards makes it look longer.
func (s *slowStart) extendAfter(left time.Duration) time.Duration {
	left = max(0, min(left, s.current))
	return max(left/2+rand.N(left/20+1), minBackoff)
}

// backoff is the pause after that many failures in a row: 50 ms doubling to
// 1 s, of which up to a half is taken off at random.
func backoff(failures int) time.Duration {
	d := maxBackoff
	if shift := failures - 1; shift < 5 {
		d = min(minBackoff<<max(0, shift), maxBackoff)
	}
	return max(minBackoff, d-rand.N(d/2))
}
