// Package places bounds the connections of a process in slots and in bytes: of all, of one address and of one token, so that no
// single host or application uses up all of them. When slots are short, a new connection evicts a connection that has not spoken
// yet, from the address whose silent connections hold most. If there is none, it evicts the connection with the longest idle time. When
// bytes exceed a limit by a quarter, the connection is evicted that holds most, from the address whose connections hold most. Connections from other addresses do not evict silent connections from favored addresses. The main types are [Places] and
// [Place].
package places

import (
	"cmp"
	"container/list"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// shares is the number of tokens whose shares are all slots, or all bytes, together.
	shares = 4
	// IdleLimit is the time without a request after which a connection may make way.
	IdleLimit = time.Minute
	// searchInterval is the shortest interval between searches for idle connections.
	searchInterval = time.Second
	// maxFavored is the greatest number of favored addresses.
	maxFavored = 256
)

// Owners of places, besides tokens, which have their IDs.
const (
	silent   uint64 = 0              // connections that have not spoken
	favored  uint64 = math.MaxUint64 // those from favored addresses
	everyone        = favored - 1    // connections of callers without a token: no share
	kept            = favored - 2    // connections that never make way: no share
)

// Places holds the places of connections. At no time are more slots taken than the limits of New allow; see [Place.Charge] for
// bytes. Its methods and those of its places may be called from any goroutine.
type Places struct {
	slots, each   int
	memory, price int64 // bytes: of all places, and of each

	mu       sync.Mutex
	taken    int   // slots
	held     int64 // bytes
	number   uint64
	from     map[netip.Prefix]int
	owners   map[uint64]*owner
	favors   []netip.Prefix // latest last
	returned chan struct{}  // closed when bytes are returned; nil if nobody waits for that
	idle     []*Place       // idle places at searched, longest idle first; may be free since
	searched time.Time
}

// New returns Places with slots for all connections, whose bytes do not count. The connections of one address take at most each
// slots, and those of one token at most a quarter of all slots, but at least one.
func New(all, each int) *Places { return NewBudget(all, each, math.MaxInt64/2, 1) }

// NewBudget returns Places with slots for all connections, and memory for what they hold, in bytes. A connection holds at least
// price. The silent connections together, and those of one token, hold at most a quarter of the memory.
func NewBudget(all, each int, memory, price int64) *Places {
	return &Places{
		slots: all, each: each, memory: memory, price: price,
		from: make(map[netip.Prefix]int), owners: make(map[uint64]*owner),
	}
}

// owner is a token or one of the constants, with the places of its connections.
type owner struct {
	id     uint64
	slots  int   // share of the slots
	memory int64 // share in bytes
	taken  int
	held   int64
	hosts  map[netip.Prefix]*host
}

// host holds the places of an owner's connections from one origin.
type host struct {
	held   int64
	places list.List // elements: *Place, oldest first
}

// Place is a connection's place, from Take until Release or an eviction.
type Place struct {
	places *Places
	origin netip.Prefix
	number uint64 // ascending with Take
	evict  func() // nil if the place cannot be evicted
	idler  Idler
	owner  *owner // nil once free
	host   *host
	at     *list.Element
	spoken atomic.Bool

	held    atomic.Int64 // bytes, besides the price
	counted atomic.Int64 // bytes of the totals, besides the price; changed with places.mu
	sent    atomic.Int64 // bytes
}

// Idler is a connection that reports its idle time.
type Idler interface {
	// Idle returns the time for which the connection has been idle; 0 while a request is served. It is called with the lock of
	// the Places held.
	Idle() time.Duration
}

// owner returns an owner. Requires p.mu.
func (p *Places) owner(id uint64) *owner {
	o := p.owners[id]
	if o == nil {
		o = &owner{id: id, slots: p.slots, memory: p.memory, hosts: make(map[netip.Prefix]*host)}
		switch id {
		case everyone, kept:
		case silent, favored:
			o.memory /= shares
		default:
			o.slots, o.memory = max(1, o.slots/shares), o.memory/shares
		}
		p.owners[id] = o
	}
	return o
}

// Take takes a place for a connection from an address. It returns false if there is none. The caller must call Release. If
// evict is not nil, the place can be evicted until Spoke is called: evict then runs in its own goroutine and must close the
// connection.
func (p *Places) Take(addr net.Addr, evict func()) (*Place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	place := &Place{places: p, origin: Origin(addr), number: p.number, evict: evict}
	id := silent
	switch {
	case evict == nil:
		id = kept
	case slices.Contains(p.favors, place.origin):
		id = favored
	}
	for {
		crowded := place.origin.IsValid() && p.from[place.origin] >= p.each
		if !crowded && p.taken < p.slots {
			break
		}
		way := p.oldest(place.origin, id, crowded)
		if way == nil {
			way = p.longestIdle(func(other *Place) bool { return other.origin == place.origin || !crowded })
		}
		if way == nil {
			return nil, false
		}
		p.drop(way)
	}
	p.from[place.origin]++
	p.enter(place, p.owner(id), p.price)
	p.enforce(place.owner)
	return place, true
}

// oldest returns the silent place that makes way for a connection from an origin; nil if there is none. An origin that is crowded,
// which means that it may have no more, needs one of its own. Requires p.mu.
func (p *Places) oldest(from netip.Prefix, id uint64, crowded bool) *Place {
	way := p.owner(silent).oldest(from, crowded)
	if id == favored && (way == nil || crowded) {
		way = p.owner(favored).oldest(from, crowded)
	}
	return way
}

// oldest returns the oldest place of the origin whose places hold most, and of the one with the oldest place among several. If those
// of from hold as much, or from is crowded, it is the oldest place of from. It is nil if there is none.
func (o *owner) oldest(from netip.Prefix, crowded bool) (oldest *Place) {
	most := int64(-1)
	own := o.hosts[from]
	if own != nil {
		oldest, most = own.oldest(), own.held
	}
	if crowded {
		return oldest
	}
	for _, h := range o.hosts {
		if h.held > most || h.held == most && oldest.host != own && h.oldest().number < oldest.number {
			oldest, most = h.oldest(), h.held
		}
	}
	return oldest
}

func (h *host) oldest() *Place { return h.places.Front().Value.(*Place) }

// enter adds a place with a number of bytes to an owner. Requires p.mu.
func (p *Places) enter(place *Place, o *owner, bytes int64) {
	h := o.hosts[place.origin]
	if h == nil {
		h = new(host)
		o.hosts[place.origin] = h
	}
	place.owner, place.host, place.at = o, h, h.places.PushBack(place)
	o.taken++
	p.taken++
	p.resize(place, bytes)
}

// removePlace removes a place from its owner, and returns its bytes. Requires p.mu.
func (p *Places) removePlace(place *Place) (bytes int64) {
	o, bytes := place.owner, p.price+place.counted.Load()
	p.resize(place, -bytes)
	place.host.places.Remove(place.at)
	if place.host.places.Len() == 0 {
		delete(o.hosts, place.origin)
	}
	p.taken--
	if o.taken--; o.taken == 0 {
		delete(p.owners, o.id)
	}
	return bytes
}

// drop evicts a place. Requires p.mu.
func (p *Places) drop(place *Place) {
	go place.evict()
	p.release(place)
}

// Spoke makes the place safe from eviction until Release. Further calls are cheap and have no effect.
func (place *Place) Spoke() { place.Serve(0, nil) }

// Serve keeps the place of a connection whose caller has the token with the given ID; 0 means no token. It returns false and
// changes nothing if the token has its share of places, of which none is idle. The place can be evicted again while the connection is
// idle, unless idler is nil. After Serve has returned true, further calls are cheap and have no effect.
func (place *Place) Serve(token uint64, idler Idler) bool {
	if place.spoken.Load() {
		return true
	}
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.owner == nil || place.spoken.Load() {
		return true
	}
	id := cmp.Or(token, everyone)
	if token == 0 && (idler == nil || place.evict == nil) {
		id = kept
	}
	to := p.owner(id)
	if full := to.taken >= to.slots; full || to.held+p.price > to.memory {
		if way := p.longestIdle(func(other *Place) bool { return other.owner == to }); way != nil {
			p.drop(way)
		} else if full {
			return false
		}
	}
	place.spoken.Store(true)
	place.idler = idler
	to = p.owner(id)
	p.enter(place, to, p.removePlace(place))
	p.enforce(to)
	return true
}

// Distrust makes the place that of a silent connection again, after its caller lost all rights.
func (place *Place) Distrust() {
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.owner != nil && place.spoken.Load() && place.owner.id != kept {
		place.spoken.Store(false)
		bytes := p.removePlace(place)
		p.enter(place, p.owner(silent), bytes)
	}
}

// Heard makes the place the last one to be evicted among the silent places of its address.
func (place *Place) Heard() {
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.owner != nil {
		place.host.places.MoveToBack(place.at)
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
	if place.owner == nil {
		return
	}
	p.removePlace(place)
	place.owner, place.host, place.at = nil, nil, nil
	place.evict, place.idler = nil, nil // p.idle may hold the place for long
	if p.from[place.origin]--; p.from[place.origin] == 0 {
		delete(p.from, place.origin)
	}
}
