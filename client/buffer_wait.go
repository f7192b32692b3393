package client

import (
	"context"
	"fmt"
)

// await continues Next when the current chunk has no ID left.
func (b *Buffer) await(ctx context.Context) (id int64, err error) {
	id, ok := b.TryNext()
	if ok {
		return id, nil
	}
	b.waited.Add(1)
	if b.opts.failing {
		b.starve()
		return 0, b.gap()
	}
	err = b.wait(ctx, func() (ok bool) {
		if id, ok = b.TryNext(); !ok {
			b.starve()
		}
		return ok
	})
	return id, err
}

// wait waits until ok returns true; it calls ok after each answer to the filler. It returns the error of givesUp if waiting
// does not help or ctx ends.
func (b *Buffer) wait(ctx context.Context, ok func() bool) error {
	ctx, cancel := bounded(ctx, b.timeout)
	defer cancel()
	for {
		filled := b.filled.Next() // taken before ok, so that no answer is missed
		if ok() {
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

func (b *Buffer) starve() {
	if !b.starved.Load() {
		b.starved.Store(true)
	}
	b.low()
}

// gap returns the reason why the buffer has no ID, for callers that do not wait.
func (b *Buffer) gap() error {
	problem := b.trouble()
	switch {
	case problem == nil:
		return ErrEmpty
	case lasting(problem):
		return problem
	default:
		return fmt.Errorf("%w and the cluster returned no IDs: %w", ErrEmpty, problem)
	}
}

// givesUp returns the reason to stop waiting for an ID; nil if waiting may help.
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

// trouble returns ErrClosed, or the error of the last request for IDs; nil if that request succeeded.
func (b *Buffer) trouble() error {
	if b.life.Err() != nil {
		return ErrClosed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.problem
}
