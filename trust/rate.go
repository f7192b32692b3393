package trust

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"
)

const year = 365 * 24 * time.Hour

// bucket counts numbers against a rate: it gains one in each interval of the rate since at, up to the burst. A request for more than the burst is served from a full bucket and leaves a debt, so
// that every request succeeds sometime.
type bucket struct {
	began time.Time     // long ago
	at    atomic.Int64  // ns since began
	rate  atomic.Uint64 // the rate that at is by; 0 at first
}

// fill makes the bucket a full one; before it is used.
func (b *bucket) fill() { b.began = time.Now().Add(-year) }

// RateLimited is the error of a request beyond the rate of its token.
type RateLimited struct {
	Rate       uint64 // numbers per second
	RetryAfter time.Duration
}

func (e *RateLimited) Error() string {
	return fmt.Sprintf("the token allows %d numbers per second per member; slow down, or raise the rate of the token", e.Rate)
}

// Spend takes n numbers from what the caller's rate allows on this process. The error is a [*RateLimited], or a [*Denied] if
// the token is valid no longer.
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

// Charge takes n numbers whatever the rate, for what was granted already: later requests wait.
func (p *Principal) Charge(n uint64) {
	if p == nil || p.source == nil {
		return
	}
	if now, err := p.source.present(); err == nil && now.record.Rate != 0 {
		p.bucket.charge(n, now.record.Rate, now.record.Burst)
	}
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

// follow turns a debt by an earlier rate into one by this rate, so that a raise helps at once.
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

// charge takes n numbers even if the bucket does not have them.
func (b *bucket) charge(n, rate, burst uint64) {
	b.follow(rate)
	burst = cmp.Or(burst, rate)
	now := int64(time.Since(b.began))
	for {
		at := b.at.Load()
		if b.at.CompareAndSwap(at, max(at, now-cost(burst, rate))+cost(n, rate)) {
			return
		}
	}
}

// take takes n numbers, or returns how long to wait for them.
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

// cost returns how long a rate takes for n numbers, in ns. It is at most a year.
func cost(n, rate uint64) int64 {
	return int64(min(float64(n)/float64(rate)*float64(time.Second), float64(year)))
}
