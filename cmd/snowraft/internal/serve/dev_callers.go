package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/snowraft/snowraft/client"
)

const (
	// callEvery is the pause between two calls of a caller.
	callEvery = 10 * time.Millisecond
	// callerTimeout is the time after which a call of a caller fails.
	callerTimeout = 5 * time.Second
	// mostSeen bounds the results that a caller compares: those of some hours.
	mostSeen = 1 << 20
	// callerSequence is the strict sequence that one caller takes numbers from.
	callerSequence = "dev/keys"
)

// caller calls the cluster as an application does, one call after the other, and notes what it sees.
type caller struct {
	name string
	next func(context.Context) (int64, error)
	now  func() time.Time

	mu                         sync.Mutex
	issued, failed, duplicates uint64
	last                       time.Time // time of the newest result; zero without one
	longest                    time.Duration
	seen                       map[int64]struct{}

	shown   uint64 // results at the last line
	shownAt time.Time
}

// newCallers returns a caller for IDs and one for numbers of a strict sequence.
func newCallers(c *client.Client, now func() time.Time) []*caller {
	strict, created := c.Sequence(callerSequence), false
	number := func(ctx context.Context) (int64, error) {
		if !created {
			if _, err := c.CreateSequence(ctx, client.SequenceSpec{Name: callerSequence, Description: "for the keys of snowraft dev"}); err != nil {
				return 0, err
			}
			created = true
		}
		return strict.Next(ctx)
	}
	return []*caller{
		{name: "IDs", next: c.NextID, now: now, seen: make(map[int64]struct{})},
		{name: "strict numbers", next: number, now: now, seen: make(map[int64]struct{})},
	}
}

// run calls until ctx ends.
func (c *caller) run(ctx context.Context) {
	tick := time.NewTicker(callEvery)
	defer tick.Stop()
	for {
		n, err := c.next(ctx)
		if ctx.Err() != nil {
			return
		}
		c.note(n, err)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// note counts an outcome.
func (c *caller) note(n int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failed++
		return
	}
	now := c.now()
	if c.issued > 0 {
		c.longest = max(c.longest, now.Sub(c.last))
	}
	c.issued++
	c.last = now
	if _, again := c.seen[n]; again {
		c.duplicates++
	}
	if len(c.seen) < mostSeen {
		c.seen[n] = struct{}{}
	}
}

// line returns the cells of the caller's line: its rate since the line before, and its counts.
func (c *caller) line() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	rate := "-"
	if elapsed := now.Sub(c.shownAt).Seconds(); !c.shownAt.IsZero() && elapsed > 0 {
		rate = fmt.Sprintf("%.0f", float64(c.issued-c.shown)/elapsed)
	}
	c.shown, c.shownAt = c.issued, now
	longest := c.longest
	if c.issued > 0 {
		longest = max(longest, now.Sub(c.last)) // the present gap counts too
	}
	return []any{c.name, rate, c.issued, c.failed, longest.Round(time.Millisecond), c.duplicates}
}
