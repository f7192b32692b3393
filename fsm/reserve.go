package fsm

import (
	"math"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// reserveNumbers reserves a number for each key, or for none. A key with an open reservation gets its number again in the
// next attempt; a key with a confirmed number gets that number. So a key has at most one number that is open or confirmed,
// as long as it is remembered.
func (s *State) reserveNumbers(e entry) Result {
	c := e.cmd.GetReserveNumbers()
	old, refused := s.gapless(c.GetName())
	if refused != nil {
		return Result{Err: refused}
	}
	if refused := checkKeys(c.GetKeys()); refused != nil {
		return Result{Err: refused}
	}
	if refused := old.current(c.GetGeneration(), c.GetPeriod()); refused != nil {
		return Result{Err: refused}
	}
	if c.GetOpenFrom() != 0 && checkDate(c.GetOpenFrom()) != nil {
		return Result{Err: invalid("%v", checkDate(c.GetOpenFrom()))}
	}
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	p := s.edit(old, e)
	p.forget(2 * len(c.GetKeys()))
	p.q.closeBefore(c.GetOpenFrom())
	var got []Reservation
	for _, key := range c.GetKeys() {
		r, refused := p.reserve(key, c)
		if refused != nil {
			return Result{Err: refused}
		}
		got = append(got, r.view(key))
	}
	p.commit()
	return Result{Reservations: got}
}

func checkKeys(keys []string) *Refused {
	if n := len(keys); n < 1 || n > limits.ReservationKeys {
		return invalid("%d keys: expected 1 to %d", n, limits.ReservationKeys)
	}
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		if refused := checkKey(key); refused != nil {
			return refused
		}
		if seen[key] {
			return invalid("key %q: named twice", key)
		}
		seen[key] = true
	}
	return nil
}

// remembered returns the last reservation of a key, unless it was confirmed or void for so long that the key is new.
func (p *posting) remembered(key string) (*reservation, bool) {
	r, ok := p.l.keys.Get(key)
	return r, ok && !r.expired(p.state.observed)
}

func (r *reservation) expired(observed int64) bool {
	return r.settled != 0 && minus(observed, r.settledAt) > keyMillis
}

// forget drops up to n expired keys, beginning with the oldest.
func (p *posting) forget(n int) {
	for ; n > 0; n-- {
		text, some := p.l.settled.Min()
		if !some {
			return
		}
		key := keyOf(text)
		if r, _ := p.l.keys.Get(key); !r.expired(p.state.observed) {
			return
		}
		p.l.settled.Delete(text)
		p.l.keys.Delete(key)
	}
}

// reserve reserves a number for a key.
func (p *posting) reserve(key string, c *commandv1.ReserveNumbers) (*reservation, *Refused) {
	r, known := p.remembered(key)
	switch {
	case !known || r.state == fateVoid:
		return p.draw(key, c)
	case r.state == fateUnknown:
		return nil, unresolved(p.q.name, key, r)
	case r.state == fateConfirmed:
		return r, nil
	case r.attempt == math.MaxUint32:
		return nil, invalid("key %q has had %d attempts; confirm or void its number", key, r.attempt)
	}
	again := *r
	again.attempt, again.holder = r.attempt+1, p.stamp.by
	p.l.keys.Set(key, &again)
	return &again, nil
}

// draw gives a key a number of the current period: the lowest free one, if the sequence reuses them, or the next one. Of an
// earlier period, it is the next one.
func (p *posting) draw(key string, c *commandv1.ReserveNumbers) (*reservation, *Refused) {
	p.startPeriod(c.GetPeriod())
	period := p.q.period
	if only := c.GetOnlyPeriod(); only != 0 && only != period {
		if refused := p.checkLate(only); refused != nil {
			return nil, refused
		}
		period = only
	}
	if refused := p.roomToDraw(key); refused != nil {
		return nil, refused
	}
	a := p.account(period)
	n, f := a.next, fate{kind: fateOpen, key: key, stamp: p.stamp}
	if free, some := p.l.free.Min(); some && p.q.spec.reuse && period == p.q.period && free < p.q.spec.endOfNumbers() {
		n = free
		_, void, _ := a.at(free)
		f.voids, f.reason = void.voids, void.reason
		p.l.free.Delete(free)
	} else if p.q.spent && period == p.q.period || n >= p.q.spec.endOfNumbers() {
		return nil, p.q.view().Exhausted(0)
	}
	p.l.set(a, n, n+1, f)
	p.note(period, n)
	if r, ok := p.l.keys.Get(key); ok {
		p.l.settled.Delete(ordered(r.settled, key))
	}
	r := &reservation{
		period: period, number: n, index: p.stamp.index, attempt: 1, state: fateOpen, reserved: p.stamp.at, holder: p.stamp.by,
	}
	p.l.keys.Set(key, r)
	p.l.opened.Insert(ordered(r.index, key))
	return r, p.room()
}

// roomToDraw refuses if the sequence cannot have another open reservation. A reservation takes the room of its key and of
// its number, so that it can always become confirmed or void.
func (p *posting) roomToDraw(key string) *Refused {
	if p.l.opened.Len() >= MaxOpenReservations {
		text, _ := p.l.opened.Min()
		oldest, _ := p.l.keys.Get(keyOf(text))
		return refuse(commandv1.Refusal_REFUSAL_RESERVATIONS_OPEN,
			"sequence %q has %d open reservations, which is the limit; confirm or void some: the oldest has key %q and number %d, and was reserved %d ms ago",
			p.q.name, MaxOpenReservations, keyOf(text), oldest.number, minus(p.stamp.at, oldest.reserved))
	}
	if _, known := p.l.keys.Get(key); !known && p.l.keys.Len() >= maxKeys {
		free := p.stamp.at + 1
		if text, some := p.l.settled.Min(); some {
			r, _ := p.l.keys.Get(keyOf(text))
			free = r.settledAt + keyMillis + 1
		}
		return refuse(commandv1.Refusal_REFUSAL_OVERLOADED,
			"limit of %d remembered keys of sequence %q reached; try again in %d ms", maxKeys, p.q.name, minus(free, p.state.observed)).retryAt(free)
	}
	return nil
}

func unresolved(name, key string, r *reservation) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_NUMBER_UNRESOLVED,
		"sequence %q: a restore left number %d of key %q unknown; resolve it with \"snowraft seq resolve\"", name, r.number, key)
}
