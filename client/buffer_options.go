package client

import (
	"fmt"
	"time"
)

const (
	defaultMinBuffer = 1_000
	mostBuffered     = 100_000_000
	leastAge         = 100 * time.Millisecond
)

// BufferOption configures a [Buffer].
type BufferOption func(*bufferOptions)

type bufferOptions struct {
	least, most int // bounds of the capacity, in IDs
	span        time.Duration
	age         time.Duration
	threshold   float64
	topUp       time.Duration
	failing     bool
}

func newBufferOptions(opts []BufferOption) (bufferOptions, error) {
	// At a steady rate, an ID is used within the span, so few IDs of a buffer in use reach the age.
	o := bufferOptions{
		least: defaultMinBuffer, most: 1_000_000, span: 5 * time.Second, age: 10 * time.Second,
		threshold: 0.3, topUp: time.Second,
	}
	for _, set := range opts {
		set(&o)
	}
	switch {
	case o.least < 1 || o.most < o.least || o.most > mostBuffered:
		return o, fmt.Errorf("client: buffer of %d to %d IDs: expected 1 to %d, the lesser number first", o.least, o.most, mostBuffered)
	case o.span <= 0:
		return o, fmt.Errorf("client: buffer duration %v: must be greater than 0", o.span)
	case o.age < leastAge:
		return o, fmt.Errorf("client: greatest age %v: expected at least %v", o.age, leastAge)
	case !(o.threshold >= 0 && o.threshold < 1): // also NaN
		return o, fmt.Errorf("client: refill threshold %v: expected at least 0 and less than 1", o.threshold)
	case o.topUp <= 0:
		return o, fmt.Errorf("client: fill interval %v: must be greater than 0", o.topUp)
	}
	o.span = min(o.span, o.age/2)
	return o, nil
}

// WithBufferSize sets the bounds of the number of IDs in a full buffer, each 1 to 100,000,000. Between the bounds, this
// number follows the rate at which IDs are used. The default is 1,000 to 1,000,000. The buffer stores IDs as ranges,
// in a few bytes per thousand IDs; if the layout's ranges are short, an ID takes up to 8 bytes.
func WithBufferSize(least, most int) BufferOption {
	return func(o *bufferOptions) { o.least, o.most = least, most }
}

// WithBufferSpan sets the time that a full buffer lasts at the rate at which IDs are used; the default is 5 s. It
// must be greater than 0. Half the age ([WithBufferAge]) is the maximum; a greater value counts as the maximum.
func WithBufferSpan(d time.Duration) BufferOption { return func(o *bufferOptions) { o.span = d } }

// WithBufferAge sets the age at which IDs are dropped, at least 100 ms. It should be longer than a request to the
// cluster takes. The default is 10 s: IDs are ordered by time to within some seconds, which is as good as members'
// clocks for most uses, and a program that uses no IDs costs 100 IDs per second. With a greater age, a buffer
// bridges longer outages of the members.
//
// The age of an ID counts from the request to the cluster. No call reads the clock: a goroutine drops IDs when they
// reach the age. A returned ID is older than the age by at most the time until that goroutine runs, which is about a
// millisecond on a machine that is not overloaded. The time for which the machine sleeps does not count.
func WithBufferAge(d time.Duration) BufferOption { return func(o *bufferOptions) { o.age = d } }

// WithBufferThreshold sets the part of a full buffer at which the buffer is refilled: at least 0 and less than 1; the
// default is 0.3.
func WithBufferThreshold(part float64) BufferOption {
	return func(o *bufferOptions) { o.threshold = part }
}

// WithBufferInterval sets the interval at which the buffer is filled, regardless of the number of IDs left; the default
// is 1 s. It must be greater than 0. A full buffer makes no request.
func WithBufferInterval(d time.Duration) BufferOption {
	return func(o *bufferOptions) { o.topUp = d }
}

// WithBufferNoWait makes Next fail with ErrEmpty when the buffer is empty, instead of waiting.
func WithBufferNoWait() BufferOption { return func(o *bufferOptions) { o.failing = true } }
