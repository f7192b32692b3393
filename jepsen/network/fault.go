//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Fault is something that is wrong with the network until it is healed.
type Fault struct {
	net *Net

	mu   sync.Mutex
	left []part // what is not healed yet
}

// A part is what a fault does to one host. Both functions do all or nothing.
type part struct {
	begin, end func(ctx context.Context) error
	// hits counts what the part has done something to; nil if nobody knows.
	hits func(ctx context.Context) (int64, error)
}

// Idle reports whether nothing has come yet that the fault is about: no packet that it refuses or
// loses, no connection that it delays. It is false if that is not known.
func (f *Fault) Idle(ctx context.Context) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	counted := false
	for _, p := range f.left {
		if p.hits == nil {
			continue
		}
		n, err := p.hits(ctx)
		if n > 0 || err != nil {
			return false
		}
		counted = true
	}
	return counted
}

// begin begins all parts of a fault at once. If one fails, none is left.
func (n *Net) begin(ctx context.Context, parts []part) (*Fault, error) {
	// A command that was killed might have done its work or not.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	f := &Fault{net: n}
	failed := atOnce(parts, func(p part) error {
		if err := p.begin(ctx); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.left = append(f.left, p)
		return nil
	})
	n.mu.Lock()
	if n.closed {
		failed = errors.Join(failed, errClosed)
	} else {
		n.faults[f] = struct{}{}
	}
	n.mu.Unlock()
	if failed != nil {
		return nil, errors.Join(failed, f.Heal(ctx))
	}
	return f, nil
}

// Heal ends the fault and leaves all others. A fault that is healed stays so; what
// could not be healed can be tried again.
func (f *Fault) Heal(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	var mu sync.Mutex
	var left []part
	failed := atOnce(f.left, func(p part) error {
		err := p.end(ctx)
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, p)
		}
		return err
	})
	f.left = left
	if failed != nil {
		return fmt.Errorf("heal the network: %w", failed)
	}
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	delete(f.net.faults, f)
	return nil
}

// HealAll heals all faults.
func (n *Net) HealAll(ctx context.Context) error {
	n.mu.Lock()
	var faults []*Fault
	for f := range n.faults {
		faults = append(faults, f)
	}
	n.mu.Unlock()
	return atOnce(faults, func(f *Fault) error { return f.Heal(ctx) })
}

// atOnce calls f with all at the same time and joins the errors.
func atOnce[T any](all []T, f func(T) error) error {
	failed := make([]error, len(all))
	var wg sync.WaitGroup
	for i, one := range all {
		wg.Go(func() { failed[i] = f(one) })
	}
	wg.Wait()
	return errors.Join(failed...)
}
