package server

import (
	"context"
	"slices"
	"sync"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
)

// coalescer turns many callers' requests for numbers of a sequence into one call: while
// one is under way those who come wait, and then go together in the next.
type coalescer struct {
	// call gets numbers from the leader; its own timeout bounds it.
	call func(ctx context.Context, sequence string, count uint64) (member.Numbering, error)

	mu      sync.Mutex
	flights map[string]*flight
}

// flight is the callers who want numbers of one sequence, while a call is under way.
type flight struct {
	waiting []*passenger
}

// passenger is one caller. done is closed when numbers and err are set.
type passenger struct {
	count   uint64
	done    chan struct{}
	numbers member.Numbering
	err     error
}

// next returns the caller's part of what a call that began after it came was answered.
func (c *coalescer) next(ctx context.Context, sequence string, count uint64) (member.Numbering, error) {
	p := &passenger{count: count, done: make(chan struct{})}
	c.mu.Lock()
	f := c.flights[sequence]
	if f == nil {
		f = &flight{}
		c.flights[sequence] = f
		go c.fly(sequence, f)
	}
	f.waiting = append(f.waiting, p)
	c.mu.Unlock()
	select {
	case <-p.done:
		return p.numbers, p.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(f.waiting, p); i >= 0 {
		f.waiting = slices.Delete(f.waiting, i, i+1)
	} // else what is given out for it is lost
	return member.Numbering{}, ctx.Err()
}

// fly calls until nobody waits.
func (c *coalescer) fly(sequence string, f *flight) {
	for {
		c.mu.Lock()
		aboard, total := f.board()
		if len(aboard) == 0 {
			delete(c.flights, sequence)
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		numbers, err := c.fetch(sequence, total)
		if len(aboard) > 1 && rpc.FromError(toStatus(err)).Reason == rpc.SequenceExhausted {
			c.eachAlone(sequence, aboard) // there may be enough for some of them
			continue
		}
		for _, p := range aboard {
			p.numbers, p.err = numbers, err
			p.numbers.Count = p.count
			if err == nil {
				numbers.First = numbers.Number(p.count) // past the last one's last: not used
			}
			close(p.done)
		}
	}
}

func (c *coalescer) eachAlone(sequence string, aboard []*passenger) {
	for _, p := range aboard {
		p.numbers, p.err = c.fetch(sequence, p.count)
		close(p.done)
	}
}

func (c *coalescer) fetch(sequence string, count uint64) (member.Numbering, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limits.CallTimeout)
	defer cancel()
	return c.call(ctx, sequence, count)
}

// board takes as many of those who wait, in order, as one call can serve.
func (f *flight) board() (aboard []*passenger, total uint64) {
	for len(aboard) < len(f.waiting) {
		p := f.waiting[len(aboard)]
		if len(aboard) > 0 && total+p.count > limits.Count {
			break
		}
		aboard, total = append(aboard, p), total+p.count
	}
	f.waiting = f.waiting[len(aboard):]
	return aboard, total
}
