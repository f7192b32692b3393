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

// BufferOption changes what [NewBuffer] makes.
type BufferOption func(*bufferOptions)

type bufferOptions struct {
	least, most int // IDs in a full buffer
	span        time.Duration
	age         time.Duration
	threshold   float64
	topUp       time.Duration
	failing     bool
}

func newBufferOptions(opts []BufferOption) (bufferOptions, error) {
	// An ID is used within the span at a steady rate, so the age drops few of those that are in use.
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

// WithBufferSize bounds how many IDs a full buffer has; between the bounds it follows the rate at which they are
// used. The default is 1,000 to 1,000,000; both are 1 to 100,000,000. IDs in memory take a few
// bytes for each thousand, since they are kept as ranges, but up to 8 bytes each if the layout's ranges are short.
func WithBufferSize(least, most int) BufferOption {
	return func(o *bufferOptions) { o.least, o.most = least, most }
}

// WithBufferSpan sets the time that a full buffer lasts at the rate at which IDs are used; the default is 5 s. It
// is greater than 0, and more than half the age counts as that.
func WithBufferSpan(d time.Duration) BufferOption { return func(o *bufferOptions) { o.span = d } }

// WithBufferAge drops IDs that have reached that age; it is at least 100 ms, and should be more than a
// request to the cluster takes. The default, 10 s, keeps IDs in the order of time except for seconds, as
// good as members' clocks for most uses, and costs a program that uses none 100 IDs per second. A
// greater one lets a buffer outlast members for longer.
//
// The age of an ID counts from when the cluster was requested it. No call reads the clock, so a
// goroutine drops IDs when they reach the age: an ID returned is older by at most the
// time that it takes to run that goroutine, which is about a millisecond on a machine that is not
// overloaded. Time that the machine sleeps is not counted.
func WithBufferAge(d time.Duration) BufferOption { return func(o *bufferOptions) { o.age = d } }

// WithBufferThreshold fills the buffer when that part of a full one is left; 0.3 is the default, and it is from 0
// up to but not including 1.
func WithBufferThreshold(part float64) BufferOption {
	return func(o *bufferOptions) { o.threshold = part }
}

// WithBufferInterval fills the buffer that often, however much is left; the default is 1 s. It is
// greater than 0. A full buffer makes no request.
func WithBufferInterval(d time.Duration) BufferOption {
	return func(o *bufferOptions) { o.topUp = d }
}

// WithBufferNoWait makes Next fail with ErrEmpty when the buffer is empty, instead of waiting.
func WithBufferNoWait() BufferOption { return func(o *bufferOptions) { o.failing = true } }
