package trust

import (
	"net/netip"
	"sync"
)

// maxWaiting bounds the calls that wait for the replica: anyone can present a token of a later ID.
const maxWaiting = 256

// waiting is the places of calls that wait for the replica. When all are taken, a call from the origin that has the most of them
// makes way for another origin, so that no host keeps the others out. Its zero value is ready.
type waiting struct {
	mu    sync.Mutex
	taken int
	from  map[netip.Prefix][]*waiter // the oldest first
}

// waiter is a call that waits.
type waiter struct {
	origin netip.Prefix
	giveUp func()
}

// enter takes a place for a call from an address, false if there is none, and leave returns it. giveUp ends the wait of a call
// that makes way for another.
func (w *waiting) enter(address string, giveUp func()) (leave func(), ok bool) {
	call := &waiter{originOf(address), giveUp}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken >= maxWaiting && !w.makeWay(call.origin) {
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

// makeWay ends the oldest wait of the origin that has the most places, unless the one that wants a place has as many but one.
// Requires w.mu.
func (w *waiting) makeWay(origin netip.Prefix) bool {
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
func (w *waiting) remove(call *waiter) {
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

// originOf returns the host of an address, of IPv6 its network, because one host has all of a /64. It is invalid for calls
// inside a process.
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
