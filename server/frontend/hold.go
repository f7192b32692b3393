package frontend

import "time"

const (
	// enoughSingle is the number of consecutive single requests after which a waiting request holds the stream.
	enoughSingle = 8
	// together is the interval after an answer in which a next request counts as sent before that answer.
	together = 20 * time.Microsecond
	// holdFor is the time after which a request stops holding the stream. Up to twice that time may pass.
	holdFor = 2 * time.Millisecond
)

// holding decides whether a request that waits for confirmation holds its stream. While requests come one at a time, as a
// client with a single caller sends them, no request is behind the waiting one. Another reading goroutine then gains nothing,
// and waking it is a large part of the request's cost.
type holding struct {
	answered time.Time   // time of the last answer
	single   int         // consecutive requests that came when no other was in progress
	of       *turn       // nil: no request holds the stream
	timer    *time.Timer // nil until needed
	runs     bool        // the timer runs
}

// came records that a request has arrived.
func (c *carrier) came(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == 0 && c.stuck == nil && t.began.Sub(c.hold.answered) > together {
		c.hold.single++
	} else {
		c.hold.single = 0
	}
}

// went records that a request is about to be answered.
func (c *carrier) went(t *turn, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold.answered = at
	if c.hold.of == t {
		c.hold.of = nil
	}
}

// holds reports whether a waiting request holds the stream for now.
func (c *carrier) holds(t *turn) bool {
	if !c.carries.confirms {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &c.hold
	if h.single < enoughSingle {
		return false
	}
	h.of = t
	switch {
	case h.runs: // setting a timer for each request would wake a thread
	case h.timer == nil:
		h.timer = time.AfterFunc(holdFor, c.late)
	default:
		h.timer.Reset(holdFor)
	}
	h.runs = true
	return true
}

// late is the timer's function. It ends the hold of a request that has held the stream for too long.
func (c *carrier) late() {
	c.mu.Lock()
	h := &c.hold
	t := h.of
	switch {
	case t == nil:
		h.runs = false
	case time.Since(t.began) < holdFor:
		h.timer.Reset(holdFor)
		t = nil
	default:
		h.runs, h.single, h.of = false, 0, nil
	}
	c.mu.Unlock()
	if t != nil {
		t.waits()
	}
}

// release stops the timer of a stream that has ended.
func (c *carrier) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold.timer != nil {
		c.hold.timer.Stop()
	}
}
