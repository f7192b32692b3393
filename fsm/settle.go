package fsm

import (
	"math"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// confirmNumbers records that the numbers of all claims are used.
func (s *State) confirmNumbers(e entry) Result {
	c := e.cmd.GetConfirmNumbers()
	return s.settle(e, c.GetName(), c.GetClaims(), fate{kind: fateConfirmed})
}

// voidNumbers records that the numbers of all claims are void. They stay void with their reason. Only a number that can
// never be committed, by the caller's word, may be drawn again, and only while its period is the current one.
func (s *State) voidNumbers(e entry) Result {
	c := e.cmd.GetVoidNumbers()
	if refused := checkReason(c.GetReason(), true); refused != nil {
		return Result{Err: refused}
	}
	return s.settle(e, c.GetName(), c.GetClaims(), fate{kind: fateVoid, reason: c.GetReason(), reusable: c.GetNeverCommitted()})
}

// settle gives the numbers of all claims a fate, or, if a claim is refused, none.
func (s *State) settle(e entry, name string, claims []*commandv1.ReservationClaim, f fate) Result {
	old, refused := s.gapless(name)
	if refused != nil {
		return Result{Err: refused}
	}
	if refused := checkClaims(claims); refused != nil {
		return Result{Err: refused}
	}
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	p := s.edit(old, e)
	for _, c := range claims {
		r, refused := p.claimed(c, f.kind)
		if refused != nil {
			return Result{Err: refused}
		}
		if r.state == fateOpen {
			p.settle(c.GetKey(), r, f)
		}
	}
	p.commit()
	return Result{}
}

func checkClaims(claims []*commandv1.ReservationClaim) *Refused {
	if n := len(claims); n < 1 || n > limits.ReservationKeys {
		return invalid("%d claims: expected 1 to %d", n, limits.ReservationKeys)
	}
	keys := make([]string, len(claims))
	for i, c := range claims {
		keys[i] = c.GetKey()
	}
	return checkKeys(keys)
}

// claimed returns the reservation that a claim names, if it is open or has the wanted fate already. A claim of an earlier
// attempt is refused, whatever became of the number since: a later attempt decides.
func (p *posting) claimed(c *commandv1.ReservationClaim, want commandv1.FateKind) (*reservation, *Refused) {
	r, ok := p.remembered(c.GetKey())
	switch {
	case !ok || c.GetReservation() > r.index || c.GetReservation() == r.index && c.GetAttempt() > r.attempt:
		return nil, refuse(commandv1.Refusal_REFUSAL_UNKNOWN_RESERVATION,
			"sequence %q: key %q has no attempt %d of reservation %d, or its number was settled more than %d ms ago; read the account of the period",
			p.q.name, c.GetKey(), c.GetAttempt(), c.GetReservation(), int64(keyMillis))
	case c.GetReservation() < r.index, c.GetAttempt() < r.attempt:
		return nil, refuse(commandv1.Refusal_REFUSAL_STALE_ATTEMPT,
			"sequence %q: key %q was reserved again, so attempt %d of reservation %d changes nothing; attempt %d of reservation %d has number %d",
			p.q.name, c.GetKey(), c.GetAttempt(), c.GetReservation(), r.attempt, r.index, r.number)
	case r.state == fateUnknown:
		return nil, unresolved(p.q.name, c.GetKey(), r)
	case r.state != fateOpen && r.state != want:
		return nil, alreadySettled(p.q.name, r.number, r.state)
	}
	return r, nil
}

func alreadySettled(name string, n int64, kind commandv1.FateKind) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_ALREADY_SETTLED, "sequence %q: number %d is %s already; %s", name, n, fateWords[kind], fateAdvice[kind])
}

// fateAdvice holds the next step of a caller that wanted another fate for a number.
var fateAdvice = map[commandv1.FateKind]string{
	fateOpen:      "confirm it or make it void, by its key; see \"snowraft seq open\"",
	fateConfirmed: "a confirmed number never becomes void, so cancel its document by another document",
	fateVoid:      "a void number is never used again under this key, so take it out of the document, and reserve the key again",
	fateTaken:     "it was drawn elsewhere, so leave it as it is",
	fateUnknown:   "resolve it by its number; see \"snowraft seq resolve\"",
}

var fateWords = map[commandv1.FateKind]string{
	fateOpen: "open", fateConfirmed: "confirmed", fateVoid: "void", fateTaken: "taken", fateUnknown: "unknown",
}

// settle gives the open number of a key a fate.
func (p *posting) settle(key string, r *reservation, f fate) {
	a := p.account(r.period)
	_, open, _ := a.at(r.number)
	p.decide(a, r.period, r.number, r.number+1, open.fate, f)
	p.l.opened.Delete(ordered(r.index, key))
	p.close(key, r, f.kind)
}

// decide gives the numbers [from, until), which are a run, the fate f after the fate was. A number that was void before
// keeps that in its account.
func (p *posting) decide(a *account, period int32, from, until int64, was, f fate) {
	f.voids, f.stamp = was.voids, p.stamp
	if f.kind == fateConfirmed {
		f.reason = was.reason
		if f.voids == 0 && from < a.next {
			p.l.drop(a, from) // plainly confirmed
			return
		}
	} else {
		f.voids = min(f.voids, math.MaxUint32-1) + 1
		f.reusable = f.reusable && period == p.q.period
		if f.reusable {
			p.l.free.Insert(from)
		}
	}
	p.l.set(a, from, until, f)
}

// close records that the number of a key is confirmed or void.
func (p *posting) close(key string, r *reservation, kind commandv1.FateKind) {
	done := *r
	done.state, done.settled, done.settledAt = kind, p.stamp.index, p.stamp.at
	p.l.keys.Set(key, &done)
	p.l.settled.Insert(ordered(done.settled, key))
}
