// Package places bounds connections: all of a port, and those from one address, so that a host does not take the
// places of all others. Where a port is full, a connection that has not shown yet what it is good for makes way for another.
package places

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Places are those of one kind of connections.
type Places struct {
	all, each int

	mu     sync.Mutex
	taken  int
	from   map[netip.Prefix]int
	silent list.List // of *Place that may be evicted, the oldest first
}

// New returns places for all connections, and each for those from one address.
func New(all, each int) *Places {
	return &Places{all: all, each: each, from: make(map[netip.Prefix]int)}
}

// Place is the place of one connection.
type Place struct {
	of     *Places
	origin netip.Prefix
	evict  func()
	silent *list.Element // nil once it has spoken, and if it can't be evicted
	spoken atomic.Bool   // whether Spoke was called
	free   bool
}

// Take takes a place for a connection from an address; false if there is none. The caller calls Release. If evict is not
// nil, the place can be taken away until Spoke is called: evict then closes the connection, in a goroutine of its own.
func (p *Places) Take(addr net.Addr, evict func()) (*Place, bool) {
	from := origin(addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	full := p.taken >= p.all
	if full || (from.IsValid() && p.from[from] >= p.each) {
		if !p.makeWay(from, full) {
			return nil, false
		}
	}
	place := &Place{of: p, origin: from, evict: evict}
	if evict != nil {
		place.silent = p.silent.PushBack(place)
	}
	p.taken++
	p.from[from]++
	return place, true
}

// makeWay evicts the connection that has been silent for longest, from the same address unless all places are taken.
func (p *Places) makeWay(from netip.Prefix, full bool) bool {
	for e := p.silent.Front(); e != nil; e = e.Next() {
		place := e.Value.(*Place)
		// Eviction of another address's connection does not help an address that has its share.
		if same := place.origin == from; same || (full && (!from.IsValid() || p.from[from] < p.each)) {
			go place.evict()
			p.release(place)
			return true
		}
	}
	return false
}

// Spoke keeps the place until Release. It may be called again, for next to nothing.
func (place *Place) Spoke() {
	if place.spoken.Load() || place.spoken.Swap(true) {
		return
	}
	p := place.of
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoke(place)
}

func (p *Places) spoke(place *Place) {
	if place.silent != nil {
		p.silent.Remove(place.silent)
		place.silent = nil
	}
}

// Heard makes the place the last one to be taken away, if it can be.
func (place *Place) Heard() {
	p := place.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.silent != nil {
		p.silent.MoveToBack(place.silent)
	}
}

// Release returns the place. It may be called again.
func (place *Place) Release() {
	p := place.of
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(place)
}

func (p *Places) release(place *Place) {
	if place.free {
		return
	}
	place.free = true
	p.spoke(place)
	p.taken--
	if p.from[place.origin]--; p.from[place.origin] == 0 {
		delete(p.from, place.origin)
	}
}

// origin is the address that a connection counts for. Of IPv6 it is the network, because one host has all of a /64.
// It is invalid for connections inside a process.
func origin(addr net.Addr) netip.Prefix {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
