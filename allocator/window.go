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

	// The pause of a lane between extensions that fail is at most the rest of its window divided by pauseDivisor. After an
	// outage, the lanes therefore do not all return within a second.
	pauseDivisor = 16
)

// slowStart decides how long a window to request: 2 s at first, two to four times as much after each extension,
// up to the longest that the cluster grants. A process that crashes in a loop thus discards seconds of a
// worker, while a stable process gets windows that outlast a long outage. (The idea is TCP's, RFC 5681.)
//
// A process that acquires another worker has already shown that it does not crash in a loop. Its first window
// is short again, in case the reply gets lost, and its next window is as long as the longest one before.
//
// slowStart also decides when to extend, so that the cluster has little to do at any moment. Lanes that began
// together, in other processes too, drift apart while their windows grow. Each extends the first window of full
// length at a random moment of its first half. From then on, the extensions remain evenly spread.
type slowStart struct {
	current time.Duration
	coming  time.Duration // the next window to request
	reached time.Duration // longest window so far, on any worker
	max     time.Duration
	apart   bool // extensions are spread, relative to lanes that began or failed at the same time
}

// begin starts over with a new worker.
func (s *slowStart) begin(grantMax time.Duration) {
	s.current, s.apart = firstWindow, false
	s.limit(grantMax)
}

// extended records that an extension was granted.
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

// failed records that an extension was not granted. Other lanes may have failed too, and would extend together
// with this one from now on.
func (s *slowStart) failed() { s.apart = false }

// extendAfter returns the time until the window is extended, a random part of the time left: 0.25 to 0.5 of it
// while windows grow, then once 0 to 0.5, then 0.5 to 0.55. It ignores a time left that exceeds the requested
// window, because a clock that moved backwards makes the time left look longer.
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

// backoff returns the pause after that many failures in a row: 50 ms, doubled for each failure up to most, less
// a random part of up to a half.
func backoff(failures int, most time.Duration) time.Duration {
	d := min(minBackoff<<min(max(0, failures-1), 16), most)
	return max(minBackoff, d-rand.N(d/2))
}
