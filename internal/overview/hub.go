// Package overview composes what a process knows about its cluster into one message for people: its own state, and what
// each other member last said of itself.
//
// A [Hub] has at most one collector, which runs while there are watchers. All of them share its requests to other members
// and the overviews that it composes, so their number costs the members nothing. A watcher that reads slowly misses
// overviews: there is no queue.
package overview

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// MaxWatches is the most watches of a process.
	MaxWatches = 100
	// beat is the interval at which the collector looks for changes; it publishes no more often.
	beat = 250 * time.Millisecond
	// refresh is the longest interval between overviews, and that between the requests to a member.
	refresh = time.Second
	// askTimeout bounds a request to a member.
	askTimeout = 900 * time.Millisecond
	// fresh is the age up to which a member's answer counts: with a beat, less than the 2 s that are promised.
	fresh = 1750 * time.Millisecond
	// linger is the time that the collector runs without users: programs that poll share it too, and get rates.
	linger = 3 * time.Second
)

// ErrClosed is the error of a closed Hub.
var ErrClosed = errors.New("this process is shutting down")

// ErrRefused is the error of [Source.Ask] for a member whose address refuses connections: no process listens there.
var ErrRefused = errors.New("connection refused")

// Source is the process that the overviews are composed in.
type Source interface {
	// Status returns the process's own status.
	Status() *snowraftv1.GetStatusResponse
	// Members returns the members as this process sees them, itself included. The caller owns the messages.
	Members() []*snowraftv1.Member
	// Ask requests the status of another member. The error wraps ErrRefused if the member's address refuses connections.
	Ask(ctx context.Context, member *snowraftv1.Member) (*snowraftv1.GetStatusResponse, error)
	// Layouts returns the names of all layouts, sorted.
	Layouts() []string
}

// Config describes a Hub.
type Config struct {
	Source Source
	Now    clock.Source
}

// Hub shares overviews among those who watch. It is safe for concurrent use.
type Hub struct {
	source Source
	now    clock.Source
	wg     sync.WaitGroup

	mu      sync.Mutex
	users   int                // watches, and calls of Get
	watches int                // at most MaxWatches
	stop    context.CancelFunc // ends the collector; nil if none runs
	newest  *snowraftv1.Overview
	changed chan struct{} // closed and replaced with each overview, and by Close
	closed  bool
}

// New returns a Hub without a collector.
func New(cfg Config) *Hub {
	return &Hub{source: cfg.Source, now: cfg.Now, changed: make(chan struct{})}
}

// Get returns an overview that is at most a second old. It waits up to a second for members that do not answer.
// The caller must not change the message.
func (h *Hub) Get(ctx context.Context) (*snowraftv1.Overview, error) {
	if err := h.join(false); err != nil {
		return nil, err
	}
	defer h.leave(false)
	return h.next(ctx, nil)
}

// Watch takes a place among the watchers.
func (h *Hub) Watch() (*Watch, error) {
	if err := h.join(true); err != nil {
		return nil, err
	}
	return &Watch{hub: h}, nil
}

// Watch receives overviews. One goroutine uses it.
type Watch struct {
	hub  *Hub
	last *snowraftv1.Overview
}

// Next waits for an overview newer than the last one and returns the newest. The caller must not change the message.
func (w *Watch) Next(ctx context.Context) (_ *snowraftv1.Overview, err error) {
	next, err := w.hub.next(ctx, w.last)
	if err == nil {
		w.last = next
	}
	return next, err
}

// Close releases the place.
func (w *Watch) Close() { w.hub.leave(true) }

// Close ends the collector and all watches.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		if h.stop != nil {
			h.stop()
		}
		close(h.changed)
	}
	h.mu.Unlock()
	h.wg.Wait()
}

// join registers a user and starts the collector for the first one.
func (h *Hub) join(watches bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	if watches {
		if h.watches >= MaxWatches {
			return TooMany()
		}
		h.watches++
	}
	h.users++
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop = stop
		h.wg.Go(func() { newCollector(h).run(ctx) })
	}
	return nil
}

// TooMany returns the error of a watch that finds no place.
func TooMany() error {
	return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d overviews are being watched at this process; close one, or watch another member", MaxWatches))
}

func (h *Hub) leave(watches bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
	if watches {
		h.watches--
	}
}

// next waits for an overview other than the last one.
func (h *Hub) next(ctx context.Context, last *snowraftv1.Overview) (*snowraftv1.Overview, error) {
	for {
		h.mu.Lock()
		newest, changed, closed := h.newest, h.changed, h.closed
		h.mu.Unlock()
		switch {
		case closed:
			return nil, ErrClosed
		case newest != nil && newest != last:
			return newest, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// publish replaces the newest overview.
func (h *Hub) publish(o *snowraftv1.Overview) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.newest = o
	close(h.changed)
	h.changed = make(chan struct{})
}

// used reports whether there are users.
func (h *Hub) used() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.users > 0
}

// retire ends the collector that calls it, unless there are users again.
func (h *Hub) retire() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users > 0 && !h.closed {
		return false
	}
	h.stop()
	h.stop, h.newest = nil, nil
	return true
}
