package places

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

const (
	// step is the smallest number of bytes by which a place grows in the totals, so that most charges change no total.
	step = 8 << 10
	// reserveWait is the longest wait for bytes. After that time, each connection is evicted that holds more than stallBytes and has
	// sent less meanwhile.
	reserveWait = 5 * time.Second
	stallBytes  = 64 << 10
)

// ErrMemory is the error of Reserve if the bytes were not free in time.
var ErrMemory = errors.New("no memory")

// Held returns the number of bytes that all connections hold, in steps of 8 KiB each.
func (p *Places) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// resize changes the bytes of a place in all totals. Requires p.mu.
func (p *Places) resize(place *Place, by int64) {
	p.held += by
	place.owner.held += by
	place.host.held += by
	if by < 0 && p.returned != nil {
		close(p.returned)
		p.returned = nil
	}
}

// Charge counts n bytes that the connection holds, or returns -n bytes if n is negative. If its owner or all owners then exceed
// their memory by a quarter, the place is evicted that holds most, from the origin that holds most; it may be this one.
func (place *Place) Charge(n int64) {
	if held, counted := place.held.Add(n), place.counted.Load(); held > counted || counted-held >= 2*step {
		place.places.settle(place)
	}
}

// settle adapts the totals to what a place holds.
func (p *Places) settle(place *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place.owner != nil {
		counted, held := place.counted.Load(), place.held.Load()
		if held <= counted && counted-held < 2*step {
			return
		}
		need := (max(0, held) + step - 1) / step * step
		if need == counted {
			return
		}
		place.counted.Store(need)
		p.resize(place, need-counted)
		if need > counted {
			p.enforce(place.owner)
		}
	}
}

// exceeds reports whether what is held exceeds a memory by more than a quarter.
func exceeds(held, memory int64) bool { return held > memory+memory/4 }

// enforce evicts places while o or all owners exceed their memory by a quarter. Requires p.mu.
func (p *Places) enforce(o *owner) {
	for o.id != kept && exceeds(o.held, o.memory) {
		p.drop(o.greediest())
	}
	for exceeds(p.held, p.memory) {
		var most *owner
		for _, other := range p.owners {
			if other.id != kept && (most == nil || other.held > most.held) {
				most = other
			}
		}
		if most == nil || most.taken == 0 {
			return
		}
		p.drop(most.greediest())
	}
}

// greediest returns the place that holds most among those of the origin whose places hold most. Requires a place.
func (o *owner) greediest() *Place {
	of := o.oldest(netip.Prefix{}, false).host
	most := of.oldest()
	for at := of.places.Front(); at != nil; at = at.Next() {
		if place := at.Value.(*Place); place.counted.Load() > most.counted.Load() {
			most = place
		}
	}
	return most
}

// Full reports whether the owner of the place, or all owners, hold all that they may. If so, returned is closed when bytes are
// returned.
func (place *Place) Full() (returned <-chan struct{}, full bool) { return place.fits(0) }

// TryReserve counts n bytes if they are free, and reports whether they were.
func (place *Place) TryReserve(n int64) bool {
	_, full := place.fits(n)
	return !full
}

// fits counts n bytes if they are free. Otherwise returned is closed when bytes are returned.
func (place *Place) fits(n int64) (returned <-chan struct{}, full bool) {
	p := place.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := place.owner; o != nil {
		if o.held+n > o.memory || p.held+n > p.memory {
			if p.returned == nil {
				p.returned = make(chan struct{})
			}
			return p.returned, true
		}
		place.counted.Add(n)
		p.resize(place, n)
	}
	place.held.Add(n)
	return nil, false
}

// Reserve counts n bytes, and waits for them at most 5 s. It returns the number of counted bytes: at most half of a share, so that
// they can become free. The error is that of ctx or ErrMemory.
func (place *Place) Reserve(ctx context.Context, n int64) (int64, error) {
	n = min(n, place.places.memory/shares/2)
	returned, full := place.fits(n)
	if !full {
		return n, nil
	}
	before := place.places.progress()
	late := time.NewTimer(reserveWait)
	defer late.Stop()
	for full {
		select {
		case <-returned:
			returned, full = place.fits(n)
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-late.C:
			place.places.evictStalled(before, place, n)
			return 0, ErrMemory
		}
	}
	return n, nil
}

// Sent counts n bytes that the system took from the connection, and returns the number of all of them.
func (place *Place) Sent(n int64) int64 { return place.sent.Add(n) }

// progress returns the number of bytes sent by each connection that holds more than stallBytes.
func (p *Places) progress() map[*Place]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := make(map[*Place]int64)
	for place := range p.evictable {
		if place.held.Load() > stallBytes {
			sent[place] = place.sent.Load()
		}
	}
	return sent
}

// evictStalled evicts the connections that still hold more than stallBytes and have sent less since before: those of the owner of
// the place that lacks n bytes, or of all owners if all together hold too much.
func (p *Places) evictStalled(before map[*Place]int64, lacks *Place, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.held+n > p.memory
	for place, sent := range before {
		if place.owner != nil && (all || place.owner == lacks.owner) && place.held.Load() > stallBytes && place.sent.Load()-sent < stallBytes {
			p.drop(place)
		}
	}
}
