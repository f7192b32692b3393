package frontend

import "time"

const (
	// enoughSingle is the number of requests that come one at a time before a request that waits holds the stream.
	enoughSingle = 8
	// together is the time after an answer within which the next request was there already: it did not wait for the answer.
	together = 20 * time.Microsecond
	// holdFor is the time after which a request no longer holds the stream; up to twice of that may pass.
	holdFor = 2 * time.Millisecond
)

// holding decides whether a request that waits to be confirmed holds its stream. While requests come one at a time, as those of a client with a
// single caller do, none is behind the one that waits. Then another goroutine that reads on gains nothing, and waking it is a good
// part of what the request costs.
type holding struct {
	answered time.Time   // the last answer
	single   int         // requests in a row that came when no other was in progress
	of       *turn       // nil: no request holds the stream
	timer    *time.Timer // nil until needed
	runs     bool        // timer
}

// came notes a request.
func (c *carrier) came(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == 0 && c.stuck == nil && t.began.Sub(c.hold.answered) > together {
		c.hold.single++
	} else {
		c.hold.single = 0
	}
}

// went notes that a request is about to be answered.
func (c *carrier) went(t *turn, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold.answered = at
	if c.hold.of == t {
		c.hold.of = nil
	}
}

// holds reports whether a request that waits holds the stream, for now.
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
	case h.runs: // to set a timer for each request would wake a thread
	case h.timer == nil:
		h.timer = time.AfterFunc(holdFor, c.late)
	default:
		h.timer.Reset(holdFor)
	}
	h.runs = true
	return true
}

// late runs when a request may have held the stream for too long.
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
