// Package overview composes the information of a process about its cluster into one message for people: the process's own
// state and the last status of each other member.
//
// A [Hub] has at most one collector, which runs while there are watchers. All watchers share the collector's requests to
// other members and its overviews, so the number of watchers adds no load on the members. There is no queue: a slow watcher
// misses overviews.
package overview

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/broadcast"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// MaxWatches is the largest number of watches of a process.
	MaxWatches = 100
	// beat is the interval at which the collector looks for changes. It is also the shortest interval between publications.
	beat = 250 * time.Millisecond
	// refresh is the longest interval between overviews, and the interval between requests to a member.
	refresh = time.Second
	// askTimeout bounds a request to a member.
	askTimeout = 900 * time.Millisecond
	// fresh is the age up to which a member's answer counts. Together with a beat, it is less than the documented 2 s.
	fresh = 1750 * time.Millisecond
	// linger is the time for which the collector keeps running after its last use. It is longer than the wait for any overview, and
	// lets polling programs share the collector and get rates.
	linger = 3 * time.Second
)

// ErrClosed reports that the Hub is closed.
var ErrClosed = errors.New("this process is shutting down")

// ErrRefused is the error of [Source.Ask] for a member whose address refuses connections: no process listens there.
var ErrRefused = errors.New("connection refused")

// ErrReplaced is the error of [Source.Ask] if another member answers at the member's address.
var ErrReplaced = errors.New("another member has the address")

// Source is the process that composes the overviews. Several goroutines call its methods.
type Source interface {
	// Status returns the status of the process.
	Status() *snowraftv1.GetStatusResponse
	// Members returns the members known to this process, including itself. The caller owns the messages.
	Members() []*snowraftv1.Member
	// Ask requests the status of another member. The error wraps ErrRefused if the member's address refuses connections,
	// and ErrReplaced if another member answers there.
	Ask(ctx context.Context, member *snowraftv1.Member) (*snowraftv1.GetStatusResponse, error)
}

// Config describes a Hub. Both fields are required.
type Config struct {
	Source Source
	Now    clock.Source
}

// Hub shares overviews among all watchers. It is safe for concurrent use.
type Hub struct {
	source Source
	now    clock.Source
	wg     sync.WaitGroup

	mu      sync.Mutex
	watches int         // at most MaxWatches
	runs    *collector  // nil if none runs
	used    *time.Timer // ends runs
	newest  *snowraftv1.Overview
	changed broadcast.Signal // sent with each overview, when a collector ends, and by Close
	closed  bool
}

// New returns a Hub without a collector. The caller must close the Hub.
func New(cfg Config) *Hub {
	return &Hub{source: cfg.Source, now: cfg.Now}
}

// Get returns an overview that is about one second old at most. It waits about one second at most for members that do not
// answer. The caller must not change the message. The error is ErrClosed or that of ctx.
func (h *Hub) Get(ctx context.Context) (*snowraftv1.Overview, error) { return h.next(ctx, nil) }

// Watch takes a place among the watchers. The caller must close the returned Watch. The error is ErrClosed, or that of
// [TooMany].
func (h *Hub) Watch() (*Watch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, ErrClosed
	case h.watches >= MaxWatches:
		return nil, TooMany()
	}
	h.watches++
	return &Watch{hub: h}, nil
}

// Watch receives overviews. One goroutine uses it.
type Watch struct {
	hub  *Hub
	last *snowraftv1.Overview
}

// Next waits for an overview newer than the last one, and returns the newest overview. The caller must not change the
// message. The error is ErrClosed or that of ctx.
func (w *Watch) Next(ctx context.Context) (_ *snowraftv1.Overview, err error) {
	next, err := w.hub.next(ctx, w.last)
	if err == nil {
		w.last = next
	}
	return next, err
}

// Close releases the place. It must be called once, and Next not after it.
func (w *Watch) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.hub.watches--
}

// Close stops the collector and all watches, and waits until their requests to members have ended.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		h.end()
	}
	h.mu.Unlock()
	h.wg.Wait()
}

// use keeps the collector for linger, and starts one if none runs. Requires h.mu held, and an open Hub.
func (h *Hub) use() {
	if h.runs != nil {
		if h.used.Reset(linger) {
			return
		}
		h.end() // expired a moment ago
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := newCollector(h, cancel)
	h.runs = c
	h.used = time.AfterFunc(linger, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.runs == c {
			h.end()
		}
	})
	h.wg.Go(func() { c.run(ctx) })
}

// end stops the collector. Requires h.mu held.
func (h *Hub) end() {
	if h.runs != nil {
		h.used.Stop()
		h.runs.cancel()
	}
	h.runs, h.newest = nil, nil
	h.changed.Send()
}

// TooMany returns the error of a watch beyond MaxWatches.
func TooMany() error {
	return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d overviews are being watched at this process; close one, or watch another member", MaxWatches))
}

// next waits for an overview other than the last one.
func (h *Hub) next(ctx context.Context, last *snowraftv1.Overview) (*snowraftv1.Overview, error) {
	for {
		h.mu.Lock()
		if !h.closed {
			h.use()
		}
		newest, changed, closed := h.newest, h.changed.Next(), h.closed
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

// publish replaces the newest overview by that of a collector, unless the collector has ended.
func (h *Hub) publish(c *collector, o *snowraftv1.Overview) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs == c {
		h.newest = o
		h.changed.Send()
	}
}
