package client

import "time"

// probeAfter is the time without an answer after which a client checks whether a member answers at all. Only requests for
// numbers are checked, because their answers may take long.
const probeAfter = 250 * time.Millisecond

// setTimer sets the timer so that it runs at a given time or earlier. A timer that is set to an earlier time stays: setting it for
// each request would cost more than running it needlessly every 5 ms. Requires the lock.
func (c *coalescer[R]) setTimer(at time.Time) {
	if !c.timerAt.IsZero() && !at.Before(c.timerAt) {
		return
	}
	c.timerAt = at
	if d := time.Until(at); c.timer == nil {
		c.timer = time.AfterFunc(d, c.onTimer)
	} else {
		c.timer.Reset(d)
	}
}

// onTimer runs when one of the time limits of a batch in flight may have passed.
func (c *coalescer[R]) onTimer() {
	c.mu.Lock()
	c.timerAt = time.Time{}
	now := time.Now()
	var calls []*batch[R]
	var why []*former
	soon := never
	for _, b := range c.inFlight {
		passed := now.Sub(b.began)
		for _, limit := range []time.Duration{overdue, c.hedge, c.answerTimeout, probeAfter} {
			if limit > passed && limit != never && (limit != probeAfter || c.alive != nil) {
				soon = min(soon, limit-passed)
			}
		}
		if b.fresh && passed >= overdue {
			b.fresh = false
			b.slow()
			c.fresh--
			if c.slow != nil && b.member != "" {
				c.slow(b.member)
			}
		}
		switch {
		case b.calling || b.member == "":
		case passed >= c.answerTimeout:
			calls, why = append(calls, b), append(why, &former{member: b.member, err: errSlow})
			c.suspect(b.member)
		case passed >= c.hedge:
			calls, why = append(calls, b), append(why, &former{member: b.member})
		case c.alive != nil && !c.probing && !b.probed && passed >= probeAfter:
			b.probed, c.probing = true, true
			go c.probe(b.member)
		}
	}
	if soon != never {
		c.setTimer(now.Add(soon))
	}
	next := c.beginIfAllowed()
	c.mu.Unlock()
	for i, b := range calls {
		c.call(b, why[i])
	}
	if next != nil {
		c.dispatch(next)
	}
}

// probe repeats the requests of a member that does not answer at all. A member that waits for something, such as a leader,
// answers other requests meanwhile; its requests are not repeated.
func (c *coalescer[R]) probe(member string) {
	alive := c.alive(member)
	c.mu.Lock()
	c.probing = false
	var calls []*batch[R]
	for _, b := range c.inFlight {
		if b.member == member && !alive && time.Since(b.began) >= probeAfter {
			calls = append(calls, b)
		}
	}
	c.mu.Unlock()
	if !alive {
		c.suspect(member)
	}
	for _, b := range calls {
		c.call(b, &former{member: member, err: errSlow})
	}
}
