package allocator

import (
	"context"
	"math"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
)

const (
	defaultFirstBlock = 100 // numbers to request when nothing is known yet

	// looks is the number of times that callers check the pace during a block.
	looks = 16
	// minWindow is the shortest window, in milliseconds, over which a rate is measured. A few calls in a row
	// would look like an enormous load in a shorter window. A shorter window therefore counts as at least
	// shortWindow when the pacer decides when to request a block, and as burstWindow when it decides how large
	// the block should be.
	minWindow   = 100
	shortWindow = 10
	burstWindow = 1000
	// headroom is the least number of round trips that a block lasts, so that there is time to request the
	// block after the next.
	headroom = 4
)

// pacer decides when to request a block, and how many numbers. Rates are in numbers per millisecond. Guarded by
// the Sequence's lock.
//
// The next block is requested when a fifth of the current one is left, or when the rest would be used up within
// two round trips at the present rate. A block should last for the block duration of the sequence. It has
// between half and twice as many numbers as the block before, so that a burst does not take numbers for hours.
// If twice as many numbers would last less than a quarter of that duration, or less than headroom round trips,
// the block has as many numbers as the present rate needs: a load that jumps must not wait.
type pacer struct {
	first    uint64  // numbers to request when no block was granted yet
	duration float64 // time that a block should last, in milliseconds; 0 if no block was granted yet
	min, max uint64  // bounds of the numbers to request
	size     uint64  // numbers requested last, without those that callers wanted beyond

	roundTrip float64 // milliseconds; close to the slowest recent one

	since   int64   // Mono; start of the present window
	base    uint64  // numbers issued before it
	running bool    // the window has begun
	rate    float64 // smoothed over the windows
	recent  float64 // rate in the window, or in the last one if the window has just begun
	burst   float64 // rate in the window while it is shorter than minWindow, over burstWindow

	briefUntil int64 // Mono; until then blocks last for headroom round trips only

	failures int   // failed requests in a row
	retryAt  int64 // Mono; no request in the background before
}

// measure records how many numbers were issued so far, and updates the rates.
func (p *pacer) measure(mono int64, taken uint64) {
	if !p.running {
		p.since, p.base, p.running = mono, taken, true
		return
	}
	n, elapsed := float64(taken-p.base), float64(mono-p.since)
	if taken < p.base || elapsed < 0 {
		p.since, p.base = mono, taken
		return
	}
	p.recent = n / max(elapsed, shortWindow)
	p.burst = n / burstWindow
	if elapsed < minWindow {
		return
	}
	if weight := min(1, max(0.5, elapsed/max(p.duration, 1))); p.rate > 0 {
		p.rate += weight * (p.recent - p.rate)
	} else {
		p.rate = p.recent
	}
	p.since, p.base, p.burst = mono, taken, 0
}

// granted records a block and the time that its request took, in milliseconds.
func (p *pacer) granted(b Block, took int64) {
	d := b.Duration
	if d <= 0 {
		d = limits.DefaultBlockDuration
	}
	p.duration = float64(max(1, min(d, limits.MaxBlockDuration).Milliseconds()))
	if p.max = min(b.MaxCount, maxStock); p.max == 0 {
		p.max = maxStock
	}
	p.min = max(1, min(b.MinCount, p.max))
	p.failures, p.retryAt = 0, math.MinInt64
	if sample := float64(max(1, took)); sample > p.roundTrip {
		p.roundTrip = sample
	} else {
		p.roundTrip += (sample - p.roundTrip) / 8
	}
}

// failed records a failed request, and reports whether it is the first in a row.
func (p *pacer) failed(mono int64) bool {
	p.failures++
	p.retryAt = mono + backoff(p.failures, maxBackoff).Milliseconds()
	return p.failures == 1
}

// overtaken records that blocks were dropped because numbers are also issued by other means. While that
// continues, large blocks would usually be skipped.
func (p *pacer) overtaken(mono int64) { p.briefUntil = mono + burstWindow }

// ask returns how many numbers to request when callers wait for sum numbers together, and the largest call for
// most.
func (p *pacer) ask(mono int64, sum, most uint64) uint64 {
	if p.duration == 0 {
		p.size = p.first
		return max(p.size, sum)
	}
	var size uint64
	if mono < p.briefUntil {
		size = p.clamp(p.rate*headroom*p.roundTrip, 0, maxStock)
	} else {
		rate := max(p.rate, p.burst)
		size = p.clamp(rate*max(p.duration, headroom*p.roundTrip), p.size/2, min(2*p.size, maxStock))
		size = max(size, p.clamp(rate*max(p.duration/4, headroom*p.roundTrip), 0, maxStock))
	}
	p.size = max(p.min, min(size, p.max))
	return max(min(max(p.size, sum), p.max), most)
}

// clamp rounds a count up and limits it to [low, high].
func (*pacer) clamp(count float64, low, high uint64) uint64 {
	if count >= float64(high) {
		return high
	}
	return max(low, uint64(math.Ceil(count)))
}

// reserve returns how many numbers of a block are left when the next block is requested.
func (p *pacer) reserve(count uint64) uint64 {
	need := p.clamp(2*p.roundTrip*max(p.rate, p.recent), 0, maxStock)
	return max(count/5+min(count%5, 1), need)
}

// checkPace calls pace if the lock is free. If it is not, a later call looks again.
func (s *Sequence) checkPace() {
	if s.mu.TryLock() {
		s.pace(s.cfg.Clock())
		s.mu.Unlock()
	}
}

// pace requests the next block if it is due, and sets the mark at which a call looks again. Requires s.mu.
func (s *Sequence) pace(now clock.Reading) {
	b, p := s.current.Load(), &s.pacer
	if b == nil {
		return
	}
	taken := b.taken()
	p.measure(now.Mono, s.ledger.stats.Taken+taken)
	left, mark := b.Count-taken, taken+max(1, b.Count/looks)
	if s.next == nil && s.fetch == nil {
		reserve := p.reserve(b.Count)
		switch {
		case left > reserve:
			mark = min(mark, b.Count-reserve)
		case now.Mono >= p.retryAt:
			s.request(context.Background())
		default:
			mark = taken // the next call looks again
		}
	}
	b.mark.Store(mark)
}
