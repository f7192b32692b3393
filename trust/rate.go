package trust

import (
	"cmp"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

const year = 365 * 24 * time.Hour

// bucket counts numbers against a rate. It gains one number in each interval of the rate since at, up to the
// burst. A request for more than the burst is served from a full bucket and leaves a debt, so that every
// request succeeds eventually.
type bucket struct {
	began time.Time     // reference time; a year before fill
	at    atomic.Int64  // ns since began
	rate  atomic.Uint64 // rate on which at is based; 0 at first
}

// fill makes the bucket full. It must be called before the bucket is used.
func (b *bucket) fill() { b.began = time.Now().Add(-year) }

// RateLimited is the error of a request beyond the rate of its token.
type RateLimited struct {
	Rate       uint64        // numbers per second
	RetryAfter time.Duration // time until the request would succeed, if no other request comes before
}

func (e *RateLimited) Error() string {
	return fmt.Sprintf("the token allows %d numbers per second per member; slow down, or raise the rate of the token", e.Rate)
}

// Spend takes n numbers from the caller's rate on this process. The error is a [*RateLimited], or a [*Denied]
// if the token is no longer valid.
func (p *Principal) Spend(n uint64) error {
	if p == nil {
		return noToken("", "")
	}
	if p.source == nil || n == 0 {
		return nil
	}
	now, err := p.source.present()
	if err != nil || now.record.Rate == 0 {
		return err
	}
	record := now.record
	if wait := p.bucket.take(n, record.Rate, record.Burst); wait > 0 {
		return &RateLimited{Rate: record.Rate, RetryAfter: wait}
	}
	return nil
}

// Burst returns the most numbers that the caller's rate allows at once; the greatest integer without a rate.
func (p *Principal) Burst() uint64 {
	if p == nil || p.source == nil {
		return math.MaxUint64
	}
	now, err := p.source.present()
	if err != nil || now.record.Rate == 0 { // Spend returns the error
		return math.MaxUint64
	}
	return cmp.Or(now.record.Burst, now.record.Rate)
}

// Refund returns n numbers of a Spend that were not issued.
func (p *Principal) Refund(n uint64) {
	if p == nil || p.source == nil {
		return
	}
	if now, err := p.source.present(); err == nil && now.record.Rate != 0 {
		p.bucket.at.Add(-cost(n, now.record.Rate))
	}
}

// follow scales a debt at an earlier rate to this rate, so that a higher rate helps at once.
func (b *bucket) follow(rate uint64) {
	before := b.rate.Load()
	if before == rate || !b.rate.CompareAndSwap(before, rate) || before == 0 {
		return
	}
	now := int64(time.Since(b.began))
	for {
		at := b.at.Load()
		scaled := int64(min(float64(at-now)*float64(before)/float64(rate), float64(year)))
		if at <= now || b.at.CompareAndSwap(at, now+scaled) {
			return
		}
	}
}

// take takes n numbers, or returns the time until it can.
func (b *bucket) take(n, rate, burst uint64) (wait time.Duration) {
	b.follow(rate)
	burst = cmp.Or(burst, rate)
	now := int64(time.Since(b.began))
	for {
		at := b.at.Load()
		since := max(at, now-cost(burst, rate)) // a full bucket gains nothing
		if enough := since + cost(min(n, burst), rate); enough > now {
			return time.Duration(enough - now)
		}
		if b.at.CompareAndSwap(at, since+cost(n, rate)) {
			return 0
		}
	}
}

// cost returns the time that n numbers take at a rate, in ns, at most a year.
func cost(n, rate uint64) int64 {
	return int64(min(float64(n)/float64(rate)*float64(time.Second), float64(year)))
}
