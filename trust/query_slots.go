package trust

import (
	"container/list"
	"context"
	"net/netip"
	"slices"
	"sync"
)

const (
	// maxAsked bounds the concurrent queries to members about texts of unknown callers, and also those about good
	// texts.
	maxAsked = 256
	// maxAskedFrom bounds the concurrent queries about texts from one origin.
	maxAskedFrom = maxAsked * 3 / 4
)

// querySlots holds the places for queries about texts of unknown callers. Origins with waiting callers are served round robin, so that
// no host excludes the others. The zero value is ready to use.
type querySlots struct {
	mu    sync.Mutex
	taken int
	from  map[netip.Prefix]*queue
	next  list.List // *queue elements: origins that may take a place and have waiting callers
}

// queue holds the callers of one origin.
type queue struct {
	taken   int
	waiting []chan struct{} // arrival order; closed when the caller has a place
	at      *list.Element   // element of next; nil if the origin is not queued
}

// acquire waits for a place for a query that a call from an address causes. The caller releases the place with
// leave.
func (t *querySlots) acquire(ctx context.Context, address string) (leave func(), err error) {
	origin, assigned := originOf(address), make(chan struct{})
	t.mu.Lock()
	if t.from == nil {
		t.from = make(map[netip.Prefix]*queue)
	}
	q := t.from[origin]
	if q == nil {
		q = new(queue)
		t.from[origin] = q
	}
	q.waiting = append(q.waiting, assigned)
	t.assign(q)
	t.mu.Unlock()
	leave = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.taken--
		q.taken--
		t.assign(q)
		t.forgetOrigin(origin, q)
	}
	select {
	case <-assigned:
		return leave, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(q.waiting, assigned)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		t.forgetOrigin(origin, q)
	}
	t.mu.Unlock()
	if i < 0 { // the caller got its place just now
		leave()
	}
	return nil, ctx.Err()
}

// assign assigns free places to waiting callers, after a change of q. Requires t.mu.
func (t *querySlots) assign(q *queue) {
	if q.at == nil && len(q.waiting) > 0 && q.taken < maxAskedFrom {
		q.at = t.next.PushBack(q)
	}
	for t.taken < maxAsked && t.next.Len() > 0 {
		first := t.next.Remove(t.next.Front()).(*queue)
		first.at = nil
		if len(first.waiting) == 0 { // all callers of the origin gave up
			continue
		}
		close(first.waiting[0])
		first.waiting = first.waiting[1:]
		first.taken++
		t.taken++
		if len(first.waiting) > 0 && first.taken < maxAskedFrom {
			first.at = t.next.PushBack(first)
		}
	}
}

// forgetOrigin removes an origin that has neither places nor waiting callers. Requires t.mu.
func (t *querySlots) forgetOrigin(origin netip.Prefix, q *queue) {
	if q.taken > 0 || len(q.waiting) > 0 {
		return
	}
	if q.at != nil {
		t.next.Remove(q.at)
		q.at = nil
	}
	if t.from[origin] == q {
		delete(t.from, origin)
	}
}
