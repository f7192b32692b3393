package share

import (
	"context"
	"sync"
	"time"
)

// Divisible is an answer that can be divided among callers.
type Divisible[A any] interface {
	// Part returns the count numbers that follow the first skip ones.
	Part(skip, count uint64) A
}

// Calls makes calls that several callers share. At most one call per key is in progress. It is safe
// for concurrent use.
type Calls[A Divisible[A]] struct {
	call    func(ctx context.Context, key Key, count uint64) (A, error)
	alone   func(error) bool
	timeout time.Duration

	mu    sync.Mutex
	lines Lines[*caller[A]]
}

// caller waits until done is closed, with answer and err set.
type caller[A any] struct {
	done   chan struct{}
	answer A
	err    error
}

// New returns Calls. Each call requests at most limit numbers, or all that one caller wants, and lasts
// at most timeout. If alone reports that a failure need not concern all callers of a call, each of
// them is served by a call of its own. call runs on a goroutine of Calls, with a context that has no
// values of the callers' contexts and does not end with them.
func New[A Divisible[A]](limit uint64, timeout time.Duration, alone func(error) bool,
	call func(ctx context.Context, key Key, count uint64) (A, error)) *Calls[A] {
	return &Calls[A]{call: call, alone: alone, timeout: timeout, lines: NewLines[*caller[A]](limit)}
}

// Do returns the caller's part of the answer to a call that began after Do was called. If ctx ends
// first, Do returns the error of ctx; numbers of a call in progress for the caller are then never
// issued.
func (c *Calls[A]) Do(ctx context.Context, key Key, count uint64) (answer A, err error) {
	mine := &caller[A]{done: make(chan struct{})}
	c.mu.Lock()
	line, idle := c.lines.Join(key, count, mine)
	c.mu.Unlock()
	if idle {
		go c.serve(line)
	}
	select {
	case <-mine.done:
		return mine.answer, mine.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	line.Leave(mine) // numbers that are on their way are lost
	return answer, ctx.Err()
}

// serve calls until no caller waits.
func (c *Calls[A]) serve(line *Line[*caller[A]]) {
	for {
		c.mu.Lock()
		seats, total := c.lines.Board(line)
		c.mu.Unlock()
		if len(seats) == 0 {
			return
		}
		answer, err := c.fetch(line.Key, total)
		alone := len(seats) > 1 && c.alone(err)
		var given uint64
		for _, s := range seats {
			switch {
			case alone:
				s.Caller.answer, s.Caller.err = c.fetch(line.Key, s.Count)
			case err != nil:
				s.Caller.err = err
			default:
				s.Caller.answer = answer.Part(given, s.Count)
			}
			given += s.Count
			close(s.Caller.done)
		}
	}
}

func (c *Calls[A]) fetch(key Key, count uint64) (A, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	return c.call(ctx, key, count)
}
