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

	// patience is the part of what is left of a window, as a divisor, that a lane pauses at most between extensions
	// that fail. After an outage so not all lanes come back within a second.
	patience = 16
)

// slowStart decides how long a window to request: 2 s at first, two to four times as
// much after each extension, up to what the cluster grants. A process that crashes
// in a loop so discards seconds of a worker, while a stable one gets windows that
// outlast a long outage. (The idea is TCP's, RFC 5681.)
//
// A process that takes another worker has shown already that it is none that crashes: the
// first window is short again, in case its reply gets lost, and the next as long as one was before.
//
// It also decides when to extend, so that the cluster has little to do at any moment: lanes
// that began together, in other processes too, drift apart while their windows grow, and the first
// window of full length is extended at any moment of its first half. From then on they
// are spread evenly, and stay so.
type slowStart struct {
	current time.Duration
	coming  time.Duration // the next window to request
	reached time.Duration // the longest so far, on any worker
	max     time.Duration
	apart   bool // from lanes that began, or failed, at the same time
}

// begin starts over with a new worker.
func (s *slowStart) begin(grantMax time.Duration) {
	s.current, s.apart = firstWindow, false
	s.limit(grantMax)
}

// extended notes that an extension was granted.
func (s *slowStart) extended(grantMax time.Duration) {
	s.current = s.coming
	s.reached = max(s.reached, s.current)
	s.limit(grantMax)
}

func (s *slowStart) limit(grantMax time.Duration) {
	s.max = limits.DefaultWindow
	if grantMax > 0 {
		s.max = grantMax
	}
	s.coming = min(max(2*s.current+rand.N(2*s.current+1), s.reached), s.max)
}

// failed notes that an extension was not granted, perhaps to other lanes either: they would extend together from now on.
func (s *slowStart) failed() { s.apart = false }

// extendAfter returns the time until the window is extended, a random part of the time left: 0.25 to
// 0.5 of it while windows grow, then once 0 to 0.5, then 0.5 to 0.55.
// A time left that is longer than the window requested is not believed, because a
// clock that moved backwards makes it look longer.
func (s *slowStart) extendAfter(left time.Duration) time.Duration {
	left = max(0, min(left, s.current))
	after := left/2 + rand.N(left/20+1)
	switch {
	case s.current < s.max:
		after = left/4 + rand.N(left/4+1)
	case !s.apart:
		after, s.apart = rand.N(left/2+1), true
	}
	return max(after, minBackoff)
}

// backoff is the pause after that many failures in a row: 50 ms doubling up to
// most, of which up to a half is taken off at random.
func backoff(failures int, most time.Duration) time.Duration {
	d := min(minBackoff<<min(max(0, failures-1), 16), most)
	return max(minBackoff, d-rand.N(d/2))
}
