package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// await is Next when the current chunk is used up.
func (b *Buffer) await(ctx context.Context) (uint64, error) {
	if id, ok := b.take(); ok {
		return id, nil
	}
	b.waited.Add(1)
	if b.opts.failing {
		b.starve()
		return 0, b.gap()
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.timeout)
		defer cancel()
	}
	for {
		filled := b.filled.next() // before looking, so that no answer is missed
		if id, ok := b.take(); ok {
			return id, nil
		}
		b.starve()
		if err := b.givesUp(ctx); err != nil {
			return 0, err
		}
		select {
		case <-filled:
		case <-ctx.Done():
		case <-b.life.Done():
		}
	}
}

func (b *Buffer) starve() {
	if !b.starved.Load() {
		b.starved.Store(true)
	}
	b.low()
}

// gap says why there is no ID, to those who do not wait.
func (b *Buffer) gap() error {
	problem := b.trouble()
	switch {
	case problem == nil:
		return ErrEmpty
	case lasting(problem):
		return problem
	default:
		return fmt.Errorf("%w and the cluster gave no IDs: %w", ErrEmpty, problem)
	}
}

// givesUp says why waiting for an ID makes no sense any more; nil as long as it does.
func (b *Buffer) givesUp(ctx context.Context) error {
	problem := b.trouble()
	switch {
	case lasting(problem):
		return problem
	case ctx.Err() == nil:
		return nil
	case problem == nil:
		return fmt.Errorf("%w and was not filled in time: %w", ErrEmpty, ctx.Err())
	default:
		return fmt.Errorf("%w and was not filled in time (%w): %w", ErrEmpty, ctx.Err(), problem)
	}
}

// trouble is ErrClosed, or why the last request for IDs failed; nil if it did not.
func (b *Buffer) trouble() error {
	if b.life.Err() != nil {
		return ErrClosed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.problem
}

// lasting reports whether a problem does not end by waiting.
func lasting(err error) bool {
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrUnknownLayout) || errors.Is(err, ErrTimeExhausted) || errors.Is(err, ErrInvalidArgument)
}

// Ready waits until the buffer has IDs. It fails as Next does when it waits.
func (b *Buffer) Ready(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.timeout)
		defer cancel()
	}
	for {
		filled := b.filled.next()
		if b.Stats().Level > 0 {
			return nil
		}
		if err := b.givesUp(ctx); err != nil {
			return err
		}
		select {
		case <-filled:
		case <-ctx.Done():
		case <-b.life.Done():
		}
	}
}

// bell wakes all who wait for it to ring.
type bell struct{ ring atomic.Pointer[chan struct{}] }

func (b *bell) init() {
	ch := make(chan struct{})
	b.ring.Store(&ch)
}

// next returns a channel that the next toll closes.
func (b *bell) next() <-chan struct{} { return *b.ring.Load() }

func (b *bell) toll() {
	ch := make(chan struct{})
	close(*b.ring.Swap(&ch))
}
