// Package places bounds the connections of a port, of one address and of one token, so that no single host or application
// uses up all places. When places are short, a new connection evicts a connection that has not spoken yet, from the
// address with the most such connections. If there is none, it evicts the connection with the longest idle time. Connections
// from other addresses do not evict silent connections from favored addresses. The main types are [Places] and [Place].
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
	// shares is the number of tokens whose shares are all places together.
	shares = 4
	// IdleLimit is the time without a request after which a connection may make way.
	IdleLimit = time.Minute
	// lookInterval is the shortest interval between searches for idle connections.
	lookInterval = time.Second
	// maxFavored is the greatest number of favored addresses.
	maxFavored = 256
)

// Places holds the places of one kind of connections. At no time are more places taken than the limits of New allow. Its
// methods and those of its places may be called from any goroutine.
type Places struct {
	all, each, share int

	mu     sync.Mutex
	taken  int
	from   map[netip.Prefix]int
	of     map[uint64]int // number of places by token
	silent silence        // places that may be evicted until they speak
	known  silence        // silent places of favored addresses
	favors []netip.Prefix // latest last
	served list.List      // elements: *Place that may be evicted while idle
	idle   []*Place       // idle places of served at looked, longest idle first; may be free since
	looked time.Time
}

// New returns Places with room for all connections. The connections of one address take at most each places, and those of one
// token at most a quarter of all places, but at least one.
func New(all, each int) *Places {
	return &Places{
		all: all, each: each, share: max(1, all/shares),
		from: make(map[netip.Prefix]int), of: make(map[uint64]int),
		silent: silence{of: make(map[netip.Prefix]*crowd)}, known: silence{of: make(map[netip.Prefix]*crowd)},
	}
}

// Place is a connection's place, from Take until Release or an eviction.
type Place struct {
	places *Places
	origin netip.Prefix
	token  uint64 // 0: none
	evict  func() // nil if the place cannot be evicted
	idler  Idler
	among  *silence   // silence that holds the place until it speaks
	in     *list.List // list that holds the place; nil if it cannot be evicted
	at     *list.Element
	spoken atomic.Bool
	free   bool
}

// Idler is a connection that reports its idle time.
type Idler interface {
	// Idle returns the time for which the connection has been idle; 0 while a request is served. It is called with the lock of
	// the Places held.
	Idle() time.Duration
}

// Take takes a place for a connection from an address. It returns false if there is none. The caller must call Release. If
// evict is not nil, the place can be evicted until Spoke is called: evict then runs in its own goroutine and must close the
// connection.
func (p *Places) Take(addr net.Addr, evict func()) (*Place, bool) {
	from := Origin(addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	full, crowded, among := p.taken >= p.all, from.IsValid() && p.from[from] >= p.each, &p.silent
	if slices.Contains(p.favors, from) {
		among = &p.known
	}
	if full || crowded {
		// An address that has its share needs an eviction among its own connections.
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

// idleMakesWay evicts the connection that has been idle for longest among the idle places that fit. It reports whether it did.
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

// look updates p.idle, at most once per lookInterval.
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

// Spoke makes the place safe from eviction until Release. Further calls are cheap and have no effect.
func (place *Place) Spoke() { place.Serve(0, nil) }

// Serve keeps the place of a connection whose caller has the token with the given ID; 0 means no token. It returns false and
// changes nothing if the token has its share of places. The place can be evicted again while the connection is idle, unless idler
// is nil. After Serve has returned true, further calls are cheap and have no effect.
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

// leave removes the place from its list.
func (p *Places) leave(place *Place) {
	switch place.in {
	case nil:
	case &p.served:
		place.leave()
	default:
		place.among.remove(place)
	}
}

// enter adds the place to a list. Requires that the place is not in a list.
func (place *Place) enter(l *list.List) { place.in, place.at = l, l.PushBack(place) }

// leave removes the place from its list. Requires that the place is in a list.
func (place *Place) leave() {
	place.in.Remove(place.at)
	place.in, place.at = nil, nil
}

// Heard makes the place the last one to be evicted among the silent places of its address.
func (place *Place) Heard() {
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.in != nil && place.in != &p.served {
		place.in.MoveToBack(place.at)
	}
}

// Favor favors the address of the place: only connections from favored addresses can evict later connections from it before
// they speak. The latest 256 addresses are favored.
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

// Release returns the place. Further calls have no effect, nor does a call after an eviction.
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
	place.evict, place.idler = nil, nil // p.idle may hold the place for long
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

// Origin returns the address that a connection or a datagram counts for. For IPv6 it is the /64 network, because one host has
// all addresses of a /64. It is invalid for connections inside a process.
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
