package client

import "time"

// doubt is the time without an answer after which a client checks whether a member answers at all. Only requests for
// numbers are checked, because their answers may take long.
const doubt = 250 * time.Millisecond

// arm sets the timer so that it runs at a given time or earlier. A timer that is set to an earlier time stays: setting it for
// each request would cost more than running it needlessly every 5 ms. Requires the lock.
func (c *coalescer[R]) arm(at time.Time) {
	if !c.wakes.IsZero() && !at.Before(c.wakes) {
		return
	}
	c.wakes = at
	if d := time.Until(at); c.timer == nil {
		c.timer = time.AfterFunc(d, c.due)
	} else {
		c.timer.Reset(d)
	}
}

// due runs when one of the time limits of a flight may have passed.
func (c *coalescer[R]) due() {
	c.mu.Lock()
	c.wakes = time.Time{}
	now := time.Now()
	var calls []*batch[R]
	var why []*former
	soon := never
	for _, b := range c.flights {
		passed := now.Sub(b.began)
		for _, limit := range []time.Duration{overdue, c.hedge, c.patience, doubt} {
			if limit > passed && limit != never && (limit != doubt || c.check != nil) {
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
		case passed >= c.patience:
			calls, why = append(calls, b), append(why, &former{member: b.member, err: errSlow})
			c.late(b.member)
		case passed >= c.hedge:
			calls, why = append(calls, b), append(why, &former{member: b.member})
		case c.check != nil && !c.checks && !b.checked && passed >= doubt:
			b.checked, c.checks = true, true
			go c.checkOn(b.member)
		}
	}
	if soon != never {
		c.arm(now.Add(soon))
	}
	next := c.next()
	c.mu.Unlock()
	for i, b := range calls {
		c.call(b, why[i])
	}
	if next != nil {
		c.dispatch(next)
	}
}

// checkOn repeats the requests of a member that does not answer at all. A member that waits for something, such as a leader,
// answers other requests meanwhile; its requests are not repeated.
func (c *coalescer[R]) checkOn(member string) {
	alive := c.check(member)
	c.mu.Lock()
	c.checks = false
	var calls []*batch[R]
	for _, b := range c.flights {
		if b.member == member && !alive && time.Since(b.began) >= doubt {
			calls = append(calls, b)
		}
	}
	c.mu.Unlock()
	if !alive {
		c.late(member)
	}
	for _, b := range calls {
		c.call(b, &former{member: member, err: errSlow})
	}
}
