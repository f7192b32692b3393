package trust

import (
	"container/list"
	"context"
	"net/netip"
	"slices"
	"sync"
)

const (
	// maxSlots bounds the concurrent waits that texts of strangers cause, because any client can present one: a member's for
	// its replica, and a gateway's for members. A gateway has as many for texts that were good.
	maxSlots = 256
	// maxSlotsFrom bounds those that one origin causes.
	maxSlotsFrom = maxSlots * 3 / 4
)

// slots holds the slots for waits that texts of strangers cause. Origins whose callers have no slot yet get the free ones by
// turns, so that no host excludes the others. The zero value is ready to use.
type slots struct {
	mu    sync.Mutex
	taken int
	from  map[netip.Prefix]*queue
	next  list.List // *queue elements: origins that may take a slot and have waiting callers
}

// queue holds the callers of one origin.
type queue struct {
	taken   int
	waiting []chan struct{} // arrival order; closed when the caller has a slot
	at      *list.Element   // element of next; nil if the origin is not queued
}

// take waits for a slot for a call from an address. The caller releases it with leave.
func (t *slots) take(ctx context.Context, address string) (leave func(), err error) {
	origin, free := originOf(address), make(chan struct{})
	t.mu.Lock()
	if t.from == nil {
		t.from = make(map[netip.Prefix]*queue)
	}
	q := t.from[origin]
	if q == nil {
		q = new(queue)
		t.from[origin] = q
	}
	q.waiting = append(q.waiting, free)
	t.serve(q)
	t.mu.Unlock()
	leave = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.taken--
		q.taken--
		t.serve(q)
		t.forget(origin, q)
	}
	select {
	case <-free:
		return leave, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(q.waiting, free)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		t.forget(origin, q)
	}
	t.mu.Unlock()
	if i < 0 { // the caller got its slot just now
		leave()
	}
	return nil, ctx.Err()
}

// serve assigns free slots to waiting callers, after a change of q. Requires t.mu.
func (t *slots) serve(q *queue) {
	if q.at == nil && len(q.waiting) > 0 && q.taken < maxSlotsFrom {
		q.at = t.next.PushBack(q)
	}
	for t.taken < maxSlots && t.next.Len() > 0 {
		first := t.next.Remove(t.next.Front()).(*queue)
		first.at = nil
		if len(first.waiting) == 0 { // all callers of the origin gave up
			continue
		}
		close(first.waiting[0])
		first.waiting = first.waiting[1:]
		first.taken++
		t.taken++
		if len(first.waiting) > 0 && first.taken < maxSlotsFrom {
			first.at = t.next.PushBack(first)
		}
	}
}

// forget removes an origin that has neither slots nor waiting callers. Requires t.mu.
func (t *slots) forget(origin netip.Prefix, q *queue) {
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

// originOf returns the host of an address, or the /64 network of an IPv6 address, because one host has all of a
// /64. It is invalid for calls inside a process.
func originOf(address string) netip.Prefix {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip := at.Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits) // never fails: the address is valid
	return prefix
}
