package trust

import (
	"net/netip"
	"sync"
)

// maxWaiting bounds the calls that wait for the replica, because any client can present a token with a later
// ID.
const maxWaiting = 256

// waitSlots holds the places of calls that wait for the replica. When all are taken, a call from the origin with
// the most places makes way for another origin, so that no host excludes the others. The zero value is ready to
// use.
type waitSlots struct {
	mu    sync.Mutex
	taken int
	from  map[netip.Prefix][]*waiter // oldest first
}

// waiter is a waiting call.
type waiter struct {
	origin netip.Prefix
	giveUp func()
}

// acquire takes a place for a call from an address; ok is false if there is none. leave releases the place.
// giveUp ends the wait of this call when it makes way for another one.
func (w *waitSlots) acquire(address string, giveUp func()) (leave func(), ok bool) {
	call := &waiter{originOf(address), giveUp}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken >= maxWaiting && !w.evictOldest(call.origin) {
		return nil, false
	}
	if w.from == nil {
		w.from = make(map[netip.Prefix][]*waiter)
	}
	w.taken++
	w.from[call.origin] = append(w.from[call.origin], call)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.remove(call)
	}, true
}

// evictOldest ends the oldest wait of the origin with the most places. It does nothing and returns false if origin
// would then have as many places as that origin had or more. Requires w.mu.
func (w *waitSlots) evictOldest(origin netip.Prefix) bool {
	var most []*waiter
	for _, calls := range w.from {
		if len(calls) > len(most) {
			most = calls
		}
	}
	if len(most) <= len(w.from[origin])+1 {
		return false
	}
	oldest := most[0]
	w.remove(oldest)
	oldest.giveUp()
	return true
}

// remove removes a call unless it made way already. Requires w.mu.
func (w *waitSlots) remove(call *waiter) {
	calls := w.from[call.origin]
	for i, c := range calls {
		if c != call {
			continue
		}
		w.taken--
		if len(calls) == 1 {
			delete(w.from, call.origin)
		} else {
			w.from[call.origin] = append(calls[:i:i], calls[i+1:]...)
		}
		return
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
