// Package places bounds connections: all of a port, those from one address and those of one token, so that neither a host nor
// an application takes the places of all others. Where places are short, a connection that has not spoken yet makes way for
// another, of the address that has the most such, and after those the one that has been idle for longest. Connections from favored
// addresses do not make way for others.
package places

import (
	"cmp"
	"container/list"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// shares is the number of tokens that take all places together.
	shares = 4
	// IdleLimit is the time without a request after which a connection may make way.
	IdleLimit = time.Minute
	// lookInterval bounds how often the idle connections are looked for among all.
	lookInterval = time.Second
	// maxFavored bounds the addresses that are favored.
	maxFavored = 256
)

// Places are those of one kind of connections.
type Places struct {
	all, each, share int

	mu     sync.Mutex
	taken  int
	from   map[netip.Prefix]int
	of     map[uint64]int // by token
	silent silence        // the places that may be evicted until they speak
	known  silence        // those of favored addresses
	favors []netip.Prefix // the latest one last
	served list.List      // of *Place that may be evicted when they are idle
	idle   []*Place       // of served, the longest idle first, as of looked; or free since
	looked time.Time
}

// New returns places for all connections, each for those from one address, and a quarter for those of one token.
func New(all, each int) *Places {
	return &Places{
		all: all, each: each, share: max(1, all/shares),
		from: make(map[netip.Prefix]int), of: make(map[uint64]int),
		silent: silence{of: make(map[netip.Prefix]*crowd)}, known: silence{of: make(map[netip.Prefix]*crowd)},
	}
}

// Place is the place of one connection.
type Place struct {
	places *Places
	origin netip.Prefix
	token  uint64 // 0: none
	evict  func() // nil if it can't be evicted
	idler  Idler
	among  *silence   // that it is in until it speaks
	in     *list.List // that it is in; nil if it keeps its place
	at     *list.Element
	spoken atomic.Bool
	free   bool
}

// Idler is a connection that can say how long it has been idle.
type Idler interface {
	// Idle is 0 while a request is served. It is called with a lock held.
	Idle() time.Duration
}

// Take takes a place for a connection from an address; false if there is none. The caller calls Release. If evict is not
// nil, the place can be taken away until Spoke is called: evict then closes the connection, in a goroutine of its own.
func (p *Places) Take(addr net.Addr, evict func()) (*Place, bool) {
	from := Origin(addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	full, crowded, among := p.taken >= p.all, from.IsValid() && p.from[from] >= p.each, &p.silent
	if slices.Contains(p.favors, from) {
		among = &p.known
	}
	if full || crowded {
		// Eviction of another address's connection does not help an address that has its share.
		silent := among.first(from, crowded)
		if among == &p.known && !crowded {
			silent = cmp.Or(p.silent.first(from, false), silent)
		}
		if silent != nil {
			p.drop(silent)
		} else if !p.idleMakesWay(func(other *Place) bool { return other.origin == from || !crowded }) {
			return nil, false
		}
	}
	place := &Place{places: p, origin: from, evict: evict, among: among}
	if evict != nil {
		among.add(place)
	}
	p.taken++
	p.from[from]++
	return place, true
}

// idleMakesWay evicts the connection that has been idle for longest of those that fit.
func (p *Places) idleMakesWay(fits func(*Place) bool) bool {
	p.look()
	for _, place := range p.idle {
		if !place.free && fits(place) && place.idler.Idle() >= IdleLimit {
			p.drop(place)
			return true
		}
	}
	return false
}

// look finds the idle connections, unless it did just now.
func (p *Places) look() {
	now := time.Now()
	if now.Sub(p.looked) < lookInterval {
		return
	}
	p.looked = now
	type idle struct {
		place *Place
		lasts time.Duration
	}
	var found []idle
	for e := p.served.Front(); e != nil; e = e.Next() {
		place := e.Value.(*Place)
		if lasts := place.idler.Idle(); lasts >= IdleLimit {
			found = append(found, idle{place, lasts})
		}
	}
	slices.SortFunc(found, func(a, b idle) int { return cmp.Compare(b.lasts, a.lasts) })
	p.idle = make([]*Place, len(found))
	for i, one := range found {
		p.idle[i] = one.place
	}
}

func (p *Places) drop(place *Place) {
	go place.evict()
	p.release(place)
}

// Spoke keeps the place until Release. It may be called again, for next to nothing.
func (place *Place) Spoke() { place.Serve(0, nil) }

// Serve keeps the place of a connection whose caller has the token with an ID; 0 is none. It returns false if the token has
// its share of places, and changes nothing then. The place can be taken away again while the connection is idle, unless idler
// is nil. After true it may be called again, for next to nothing and without an effect.
func (place *Place) Serve(token uint64, idler Idler) bool {
	if place.spoken.Load() {
		return true
	}
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.free || place.spoken.Load() {
		return true
	}
	if token != 0 {
		if p.of[token] >= p.share && !p.idleMakesWay(func(other *Place) bool { return other.token == token }) {
			return false
		}
		p.of[token]++
	}
	place.spoken.Store(true)
	place.token, place.idler = token, idler
	p.leave(place)
	if idler != nil && place.evict != nil {
		place.enter(&p.served)
	}
	return true
}

// leave takes the place from the list that it is in.
func (p *Places) leave(place *Place) {
	switch place.in {
	case nil:
	case &p.served:
		place.leave()
	default:
		place.among.remove(place)
	}
}

// enter requires that the place is in no list.
func (place *Place) enter(l *list.List) { place.in, place.at = l, l.PushBack(place) }

// leave requires that it is in one.
func (place *Place) leave() {
	place.in.Remove(place.at)
	place.in, place.at = nil, nil
}

// Heard makes the place the last one to be taken away of those of its address that have not spoken.
func (place *Place) Heard() {
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.in != nil && place.in != &p.served {
		place.in.MoveToBack(place.at)
	}
}

// Favor prefers later connections from the address of the place: none from another address evicts them before they speak, unless
// that one is favored too. The latest addresses are favored.
func (place *Place) Favor() {
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.favors); !place.origin.IsValid() || n > 0 && p.favors[n-1] == place.origin {
		return
	}
	p.favors = slices.DeleteFunc(p.favors, func(o netip.Prefix) bool { return o == place.origin })
	if len(p.favors) >= maxFavored {
		p.favors = slices.Delete(p.favors, 0, 1)
	}
	p.favors = append(p.favors, place.origin)
}

// Release returns the place. It may be called again.
func (place *Place) Release() {
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(place)
}

func (p *Places) release(place *Place) {
	if place.free {
		return
	}
	place.free = true
	p.leave(place)
	place.evict, place.idler = nil, nil // p.idle may have the place for long
	p.taken--
	fewer(p.from, place.origin)
	if place.token != 0 {
		fewer(p.of, place.token)
	}
}

func fewer[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] == 0 {
		delete(counts, of)
	}
}

// Origin is the address that a connection or a datagram counts for. Of IPv6 it is the network, because one host has all of a
// /64. It is invalid for connections inside a process.
func Origin(addr net.Addr) netip.Prefix {
	var ip netip.Addr
	switch addr := addr.(type) {
	case *net.TCPAddr:
		ip = addr.AddrPort().Addr().Unmap()
	case *net.UDPAddr:
		ip = addr.AddrPort().Addr().Unmap()
	}
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
