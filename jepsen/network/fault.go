//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Fault is a disturbance of the network that lasts until it is healed. Its methods may be called from any goroutine.
type Fault struct {
	net *Net

	mu   sync.Mutex
	left []part // parts not yet healed; guarded by mu
}

// A part is the effect of a fault on one host. begin and end each succeed wholly or change nothing.
type part struct {
	begin, end func(ctx context.Context) error
	// hits returns the number of packets or connections that the part has affected; nil if they are not counted.
	hits func(ctx context.Context) (int64, error)
}

// Idle reports whether the fault has affected no packet and no connection yet. It returns false if that is unknown.
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

// begin begins all parts of a fault concurrently. If one fails, begin heals the others.
func (n *Net) begin(ctx context.Context, parts []part) (*Fault, error) {
	// The parts do not use the caller's cancellation, because a killed command may or may not have taken effect.
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

// Heal ends the fault and leaves all others. Healing a healed fault has no effect. After an error, Heal can be called again
// for the remaining parts.
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

// atOnce calls f concurrently with each element and joins the errors.
func atOnce[T any](all []T, f func(T) error) error {
	failed := make([]error, len(all))
	var wg sync.WaitGroup
	for i, one := range all {
		wg.Go(func() { failed[i] = f(one) })
	}
	wg.Wait()
	return errors.Join(failed...)
}
