package server

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

const decade = 10 * 365 * 24 * time.Hour

// clocks holds a tokenClock and the clocks that it reads: the observed clock, and a clock of this member that is off by wrong.
type clocks struct {
	*tokenClock
	observed atomic.Int64
	wrong    atomic.Int64 // ms
}

// newClocks returns the clocks of a member with a correct observed clock. Call it in a bubble of synctest.
func newClocks(wrong time.Duration) *clocks {
	c := &clocks{}
	c.wrong.Store(wrong.Milliseconds())
	read := clock.System()
	c.tokenClock = &tokenClock{cluster: &c.observed, read: func() clock.Reading {
		r := read()
		r.Wall += c.wrong.Load()
		return r
	}}
	c.observe(0)
	return c
}

// observe sets the observed clock to the correct time plus ahead.
func (c *clocks) observe(ahead time.Duration) { c.observed.Store(time.Now().Add(ahead).UnixMilli()) }

// want fails the test unless the time of tokens is ahead of the correct time by ahead.
func (c *clocks) want(t *testing.T, ahead time.Duration) {
	t.Helper()
	if got := c.now() - time.Now().UnixMilli(); got != ahead.Milliseconds() {
		t.Errorf("the time of tokens is ahead by %v, want %v", time.Duration(got)*time.Millisecond, ahead)
	}
}

func TestTokenClockIgnoresTheOwnClock(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]time.Duration{"ahead": decade, "behind": -decade} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClocks(wrong)
				c.want(t, 0)
				<-time.After(time.Second)
				c.observe(0)
				c.want(t, 0)
				c.wrong.Store(0) // the clock jumps while the member runs
				c.want(t, 0)
				c.wrong.Store(-wrong.Milliseconds())
				c.want(t, 0)
			})
		})
	}
}

func TestTokenClockContinuesWhenCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClocks(decade)
		expires := time.Now().Add(time.Hour).UnixMilli()
		if c.now() >= expires {
			t.Error("the token has expired at once")
		}
		<-time.After(time.Hour - time.Millisecond)
		if c.now() >= expires {
			t.Error("the token has expired early")
		}
		<-time.After(time.Millisecond)
		if c.now() < expires {
			t.Error("the token has not expired")
		}
		c.observe(-time.Second) // contact again; an expired token stays expired
		c.want(t, 0)
	})
}

func TestTokenClockFollowsTheObservedClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ahead, want time.Duration }{
		"jump ahead":         {decade, decade},
		"a little behind":    {-4 * time.Second, 0}, // the leader's beat: the time does not go back by it
		"at the lead":        {-tokenClockLead * time.Millisecond, 0},
		"too far behind":     {-(tokenClockLead + 1) * time.Millisecond, -(tokenClockLead + 1) * time.Millisecond},
		"set back":           {-decade, -decade},
		"set back by little": {-time.Minute - time.Millisecond, -time.Minute - time.Millisecond}, // behind what it was
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clocks := newClocks(0)
				clocks.want(t, 0)
				<-time.After(time.Minute)
				clocks.observe(c.ahead)
				clocks.want(t, c.want)
				<-time.After(time.Minute)
				clocks.want(t, c.want)
			})
		})
	}
}

// The time of tokens follows a reset of the observed clock, however small, so that a corrected clock is effective.
func TestTokenClockFollowsAReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClocks(0)
		c.observe(time.Second)
		c.want(t, time.Second)
		c.observe(0)
		c.want(t, 0)
	})
}

func TestTokenClockFollowsWithoutCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, done := newClocks(0), make(chan struct{})
		go c.follow(done)
		<-time.After(time.Hour)
		c.observe(-decade)
		<-time.After(time.Hour) // no token is judged in this time
		if late := -decade - time.Duration(c.now()-time.Now().UnixMilli())*time.Millisecond; late < 0 || late > tokenClockBeat {
			t.Errorf("the time of tokens began %v after the observed clock, want at most %v", late, tokenClockBeat)
		}
		close(done)
	})
}
