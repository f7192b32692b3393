package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// issuing takes IDs from a generator in the background, and continues after refusals that say retry.
type issuing struct {
	driver    *driver
	generator string
	quit      chan struct{}
	ended     chan struct{}

	mu    sync.Mutex
	all   []uint64
	since *tally // calls that began after the last reset
	err   error  // the reason of an early end
}

// tally counts the results of calls.
type tally struct {
	ids      int
	refusals map[string]int // keyed by reason
}

// issue begins to take IDs from a generator.
func (p *player) issue(generator string) *issuing {
	i := &issuing{driver: p.driver, generator: generator, quit: make(chan struct{}), ended: make(chan struct{})}
	i.reset()
	go i.run()
	return i
}

// reset begins a new tally.
func (i *issuing) reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.since = &tally{refusals: make(map[string]int)}
}

func (i *issuing) run() {
	defer close(i.ended)
	for i.take() == nil {
		select {
		case <-i.quit:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// take takes some IDs. An error ends the issuing.
func (i *issuing) take() error {
	i.mu.Lock()
	since := i.since
	i.mu.Unlock()
	var got ids
	p, err := i.driver.begin("next", args{"generator": i.generator, "count": 20})
	if err == nil {
		var before []string
		before, err = p.wait(&got)
		got.IDs = append(got.IDs, before...)
	}
	list, bad := numbers(got.IDs, len(got.IDs))
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = append(i.all, list...)
	since.ids += len(list)
	if f, refused := errors.AsType[*failure](err); refused && f.Retry {
		since.refusals[f.Reason]++
		err = nil
	}
	i.err = errors.Join(err, bad)
	return i.err
}

// continues waits for IDs since now.
func (i *issuing) continues(ctx context.Context) error {
	i.reset()
	return i.until(ctx, "IDs", func(t *tally) bool { return t.ids > 0 })
}

// refuses waits for a refusal with a reason since the last reset.
func (i *issuing) refuses(ctx context.Context, reason string) error {
	return i.until(ctx, reason, func(t *tally) bool { return t.refusals[reason] > 0 })
}

// until waits until the tally since the last reset is as wanted.
func (i *issuing) until(ctx context.Context, want string, reached func(*tally) bool) error {
	return eventually(ctx, func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.err == nil && !reached(i.since) {
			return fmt.Errorf("generator %s: %d IDs and refusals %v, want %s", i.generator, i.since.ids, i.since.refusals, want)
		}
		return i.err
	})
}

// stop ends the issuing, and returns all IDs.
func (i *issuing) stop() ([]uint64, error) {
	close(i.quit)
	<-i.ended
	return i.all, i.err
}
