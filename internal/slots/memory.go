package slots

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

const (
	// step is the smallest number of bytes by which a slot grows in the totals, so that most charges change no total.
	step = 8 << 10
	// reserveWait is the longest wait for bytes. After that time, each connection is evicted that holds more than stallBytes and has
	// sent less meanwhile.
	reserveWait = 5 * time.Second
	stallBytes  = 64 << 10
)

// ErrMemory is the error of Reserve if the bytes were not free in time.
var ErrMemory = errors.New("no memory")

// Held returns the number of bytes that all connections hold, in steps of 8 KiB each.
func (p *Budget) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// resize changes the bytes of a slot in all totals. Requires p.mu.
func (p *Budget) resize(slot *Slot, by int64) {
	p.held += by
	slot.owner.held += by
	slot.host.held += by
	if by < 0 && p.returned != nil {
		close(p.returned)
		p.returned = nil
	}
}

// Charge counts n bytes that the connection holds, or returns -n bytes if n is negative. If its owner or all owners then exceed
// their memory by a quarter, the slot is evicted that holds most, from the origin that holds most; it may be this one.
func (slot *Slot) Charge(n int64) {
	if held, counted := slot.held.Add(n), slot.counted.Load(); held > counted || counted-held >= 2*step {
		slot.budget.settle(slot)
	}
}

// settle adapts the totals to what a slot holds.
func (p *Budget) settle(slot *Slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot.owner != nil {
		counted, held := slot.counted.Load(), slot.held.Load()
		if held <= counted && counted-held < 2*step {
			return
		}
		need := (max(0, held) + step - 1) / step * step
		if need == counted {
			return
		}
		slot.counted.Store(need)
		p.resize(slot, need-counted)
		if need > counted {
			p.enforce(slot.owner)
		}
	}
}

// exceeds reports whether what is held exceeds a memory by more than a quarter.
func exceeds(held, memory int64) bool { return held > memory+memory/4 }

// enforce evicts slots while o or all owners exceed their memory by a quarter. Requires p.mu.
func (p *Budget) enforce(o *owner) {
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

// greediest returns the slot that holds most among those of the origin whose slots hold most. Requires a slot.
func (o *owner) greediest() *Slot {
	of := o.oldest(netip.Prefix{}, false).host
	most := of.oldest()
	for at := of.slots.Front(); at != nil; at = at.Next() {
		if slot := at.Value.(*Slot); slot.counted.Load() > most.counted.Load() {
			most = slot
		}
	}
	return most
}

// Full reports whether the owner of the slot, or all owners, hold all that they may. If so, returned is closed when bytes are
// returned.
func (slot *Slot) Full() (returned <-chan struct{}, full bool) { return slot.fits(0) }

// TryReserve counts n bytes if they are free, and reports whether they were.
func (slot *Slot) TryReserve(n int64) bool {
	_, full := slot.fits(n)
	return !full
}

// fits counts n bytes if they are free. Otherwise returned is closed when bytes are returned.
func (slot *Slot) fits(n int64) (returned <-chan struct{}, full bool) {
	p := slot.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := slot.owner; o != nil {
		if o.held+n > o.memory || p.held+n > p.memory {
			if p.returned == nil {
				p.returned = make(chan struct{})
			}
			return p.returned, true
		}
		slot.counted.Add(n)
		p.resize(slot, n)
	}
	slot.held.Add(n)
	return nil, false
}

// Reserve counts n bytes, and waits for them at most 5 s. It returns the number of counted bytes: at most half of a share, so that
// they can become free. The error is that of ctx or ErrMemory.
func (slot *Slot) Reserve(ctx context.Context, n int64) (int64, error) {
	n = min(n, slot.budget.memory/shares/2)
	returned, full := slot.fits(n)
	if !full {
		return n, nil
	}
	before := slot.budget.progress()
	late := time.NewTimer(reserveWait)
	defer late.Stop()
	for full {
		select {
		case <-returned:
			returned, full = slot.fits(n)
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-late.C:
			slot.budget.evictStalled(before, slot, n)
			return 0, ErrMemory
		}
	}
	return n, nil
}

// Sent counts n bytes that the system took from the connection, and returns the number of all of them.
func (slot *Slot) Sent(n int64) int64 { return slot.sent.Add(n) }

// progress returns the number of bytes sent by each connection that holds more than stallBytes.
func (p *Budget) progress() map[*Slot]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := make(map[*Slot]int64)
	for slot := range p.evictable {
		if slot.held.Load() > stallBytes {
			sent[slot] = slot.sent.Load()
		}
	}
	return sent
}

// evictStalled evicts the connections that still hold more than stallBytes and have sent less since before: those of the owner of
// the slot that lacks n bytes, or of all owners if all together hold too much.
func (p *Budget) evictStalled(before map[*Slot]int64, lacks *Slot, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.held+n > p.memory
	for slot, sent := range before {
		if slot.owner != nil && (all || slot.owner == lacks.owner) && slot.held.Load() > stallBytes && slot.sent.Load()-sent < stallBytes {
			p.drop(slot)
		}
	}
}
