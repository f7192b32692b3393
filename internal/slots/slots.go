// Package slots bounds the connections of a process in slots and in bytes: of all, of one address and of one token, so that no
// single host or application uses up all of them. When slots are short, a new connection evicts a connection that has not spoken
// yet, from the address whose silent connections hold most. If there is none, it evicts the connection with the longest idle time. When
// bytes exceed a limit by a quarter, the connection is evicted that holds most, from the address whose connections hold most. Connections from other addresses do not evict silent connections from favored addresses. The main types are [Budget] and
// [Slot].
package slots

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

// Owners of slots, besides tokens, which have their IDs.
const (
	silent   uint64 = 0              // connections that have not spoken
	favored  uint64 = math.MaxUint64 // those from favored addresses
	everyone        = favored - 1    // connections of callers without a token: no share
	kept            = favored - 2    // connections that never make way: no share
)

// Budget holds the slots of connections. At no time are more slots taken than the limits of New allow; see [Slot.Charge] for
// bytes. Its methods and those of its slots may be called from any goroutine.
type Budget struct {
	slots, each   int
	memory, price int64 // bytes: of all slots, and of each

	mu       sync.Mutex
	taken    int   // slots
	held     int64 // bytes
	number   uint64
	from     map[netip.Prefix]int
	owners   map[uint64]*owner
	favors   []netip.Prefix // latest last
	returned chan struct{}  // closed when bytes are returned; nil if nobody waits for that
	idle     []*Slot        // idle slots at searched, longest idle first; may be free since
	searched time.Time
}

// New returns Budget with slots for all connections, whose bytes do not count. The connections of one address take at most each
// slots, and those of one token at most a quarter of all slots, but at least one.
func New(all, each int) *Budget { return NewBudget(all, each, math.MaxInt64/2, 1) }

// NewBudget returns Budget with slots for all connections, and memory for what they hold, in bytes. A connection holds at least
// price. The silent connections together, and those of one token, hold at most a quarter of the memory.
func NewBudget(all, each int, memory, price int64) *Budget {
	return &Budget{
		slots: all, each: each, memory: memory, price: price,
		from: make(map[netip.Prefix]int), owners: make(map[uint64]*owner),
	}
}

// owner is a token or one of the constants, with the slots of its connections.
type owner struct {
	id     uint64
	slots  int   // share of the slots
	memory int64 // share in bytes
	taken  int
	held   int64
	hosts  map[netip.Prefix]*host
}

// host holds the slots of an owner's connections from one origin.
type host struct {
	held  int64
	slots list.List // elements: *Slot, oldest first
}

// Slot is a connection's slot, from Take until Release or an eviction.
type Slot struct {
	budget *Budget
	origin netip.Prefix
	number uint64 // ascending with Take
	evict  func() // nil if the slot cannot be evicted
	idler  Idler
	owner  *owner // nil once free
	host   *host
	at     *list.Element
	spoken atomic.Bool

	held    atomic.Int64 // bytes, besides the price
	counted atomic.Int64 // bytes of the totals, besides the price; changed with slots.mu
	sent    atomic.Int64 // bytes
}

// Idler is a connection that reports its idle time.
type Idler interface {
	// Idle returns the time for which the connection has been idle; 0 while a request is served. It is called with the lock of
	// the Budget held.
	Idle() time.Duration
}

// owner returns an owner. Requires p.mu.
func (p *Budget) owner(id uint64) *owner {
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

// Take takes a slot for a connection from an address. It returns false if there is none. The caller must call Release. If
// evict is not nil, the slot can be evicted until Spoke is called: evict then runs in its own goroutine and must close the
// connection.
func (p *Budget) Take(addr net.Addr, evict func()) (*Slot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	slot := &Slot{budget: p, origin: Origin(addr), number: p.number, evict: evict}
	id := silent
	switch {
	case evict == nil:
		id = kept
	case slices.Contains(p.favors, slot.origin):
		id = favored
	}
	for {
		crowded := slot.origin.IsValid() && p.from[slot.origin] >= p.each
		if !crowded && p.taken < p.slots {
			break
		}
		way := p.oldest(slot.origin, id, crowded)
		if way == nil {
			way = p.longestIdle(func(other *Slot) bool { return other.origin == slot.origin || !crowded })
		}
		if way == nil {
			return nil, false
		}
		p.drop(way)
	}
	p.from[slot.origin]++
	p.enter(slot, p.owner(id), p.price)
	p.enforce(slot.owner)
	return slot, true
}

// oldest returns the silent slot that makes way for a connection from an origin; nil if there is none. An origin that is crowded,
// which means that it may have no more, needs one of its own. Requires p.mu.
func (p *Budget) oldest(from netip.Prefix, id uint64, crowded bool) *Slot {
	way := p.owner(silent).oldest(from, crowded)
	if id == favored && (way == nil || crowded) {
		way = p.owner(favored).oldest(from, crowded)
	}
	return way
}

// oldest returns the oldest slot of the origin whose slots hold most, and of the one with the oldest slot among several. If those
// of from hold as much, or from is crowded, it is the oldest slot of from. It is nil if there is none.
func (o *owner) oldest(from netip.Prefix, crowded bool) (oldest *Slot) {
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

func (h *host) oldest() *Slot { return h.slots.Front().Value.(*Slot) }

// enter adds a slot with a number of bytes to an owner. Requires p.mu.
func (p *Budget) enter(slot *Slot, o *owner, bytes int64) {
	h := o.hosts[slot.origin]
	if h == nil {
		h = new(host)
		o.hosts[slot.origin] = h
	}
	slot.owner, slot.host, slot.at = o, h, h.slots.PushBack(slot)
	o.taken++
	p.taken++
	p.resize(slot, bytes)
}

// removeSlot removes a slot from its owner, and returns its bytes. Requires p.mu.
func (p *Budget) removeSlot(slot *Slot) (bytes int64) {
	o, bytes := slot.owner, p.price+slot.counted.Load()
	p.resize(slot, -bytes)
	slot.host.slots.Remove(slot.at)
	if slot.host.slots.Len() == 0 {
		delete(o.hosts, slot.origin)
	}
	p.taken--
	if o.taken--; o.taken == 0 {
		delete(p.owners, o.id)
	}
	return bytes
}

// drop evicts a slot. Requires p.mu.
func (p *Budget) drop(slot *Slot) {
	go slot.evict()
	p.release(slot)
}

// Spoke makes the slot safe from eviction until Release. Further calls are cheap and have no effect.
func (slot *Slot) Spoke() { slot.Serve(0, nil) }

// Serve keeps the slot of a connection whose caller has the token with the given ID; 0 means no token. It returns false and
// changes nothing if the token has its share of slots, of which none is idle. The slot can be evicted again while the connection is
// idle, unless idler is nil. After Serve has returned true, further calls are cheap and have no effect.
func (slot *Slot) Serve(token uint64, idler Idler) bool {
	if slot.spoken.Load() {
		return true
	}
	p := slot.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	if slot.owner == nil || slot.spoken.Load() {
		return true
	}
	id := cmp.Or(token, everyone)
	if token == 0 && (idler == nil || slot.evict == nil) {
		id = kept
	}
	to := p.owner(id)
	if full := to.taken >= to.slots; full || to.held+p.price > to.memory {
		if way := p.longestIdle(func(other *Slot) bool { return other.owner == to }); way != nil {
			p.drop(way)
		} else if full {
			return false
		}
	}
	slot.spoken.Store(true)
	slot.idler = idler
	to = p.owner(id)
	p.enter(slot, to, p.removeSlot(slot))
	p.enforce(to)
	return true
}

// Distrust makes the slot that of a silent connection again, after its caller lost all rights.
func (slot *Slot) Distrust() {
	p := slot.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	if slot.owner != nil && slot.spoken.Load() && slot.owner.id != kept {
		slot.spoken.Store(false)
		bytes := p.removeSlot(slot)
		p.enter(slot, p.owner(silent), bytes)
	}
}

// Heard makes the slot the last one to be evicted among the silent slots of its address.
func (slot *Slot) Heard() {
	p := slot.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	if slot.owner != nil {
		slot.host.slots.MoveToBack(slot.at)
	}
}

// Favor favors the address of the slot: only connections from favored addresses can evict later connections from it before
// they speak. The latest 256 addresses are favored.
func (slot *Slot) Favor() {
	p := slot.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.favors); !slot.origin.IsValid() || n > 0 && p.favors[n-1] == slot.origin {
		return
	}
	p.favors = slices.DeleteFunc(p.favors, func(o netip.Prefix) bool { return o == slot.origin })
	if len(p.favors) >= maxFavored {
		p.favors = slices.Delete(p.favors, 0, 1)
	}
	p.favors = append(p.favors, slot.origin)
}

// Release returns the slot. Further calls have no effect, nor does a call after an eviction.
func (slot *Slot) Release() {
	p := slot.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(slot)
}

func (p *Budget) release(slot *Slot) {
	if slot.owner == nil {
		return
	}
	p.removeSlot(slot)
	slot.owner, slot.host, slot.at = nil, nil, nil
	slot.evict, slot.idler = nil, nil // p.idle may hold the slot for long
	if p.from[slot.origin]--; p.from[slot.origin] == 0 {
		delete(p.from, slot.origin)
	}
}
