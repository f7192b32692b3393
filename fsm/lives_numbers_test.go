package fsm

import (
	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The account of the numbers of all lives.

func (w *lives) number(cmd *commandv1.Command, b BlockGrant) error {
	c := cmd.GetAllocateBlock()
	if id := string(c.GetRequestId()); id != "" {
		a := livesAnswer{id, b.First, b.Count, b.Period}
		if b.Repeated {
			if !w.answered[a] {
				return violated("answer", "%q of %q got %+v, and was never answered so", id, c.GetName(), b)
			}
			return nil
		}
		w.answered[a] = true
	} else if len(c.GetReturnKeyHash()) > 0 {
		w.claims = append(w.claims, livesClaim{life: w.life, name: c.GetName(), block: b, secret: c.GetReturnKeyHash()})
	}
	w.lastOf[c.GetName()] = len(w.longest)
	first, last := b.First, numberAt(b.First, b.Count-1, b.Increment)
	for n, was := range w.numbers {
		if w.life == 1 || n.name != c.GetName() || was.place < w.forced[n.name] || b.Period != 0 && n.period != b.Period {
			continue
		}
		if n.number >= min(first, last) && n.number <= max(first, last) && (n.number-first)%b.Increment == 0 {
			return violated("number", "%+v was granted in life %d and, by %+v, in life %d", n, was.life, b, w.life)
		}
	}
	q, _ := w.s.Sequence(c.GetName())
	for i := range b.Count {
		w.numbers[livesNumber{c.GetName(), b.Period, numberAt(first, i, b.Increment)}] = livesGrant{w.life, len(w.longest), b.Period < q.Period}
	}
	return nil
}

// forcing returns the name of the sequence that a forced command changes in another way than without force.
func (w *lives) forcing(cmd *commandv1.Command) (name string, err error) {
	plainly := proto.CloneOf(cmd)
	switch {
	case cmd.GetCreateSequence().GetForce():
		plainly.GetCreateSequence().Force = false
	case cmd.GetUpdateSequence().GetForce():
		plainly.GetUpdateSequence().Force = false
	default:
		return "", nil
	}
	by := func(cmd *commandv1.Command) (digest [32]byte) {
		s, readErr := w.read(w.write(w.s))
		if readErr != nil {
			err = readErr
			return digest
		}
		s.Apply(w.index, w.term, cmd)
		return s.Digest()
	}
	if by(cmd) == by(plainly) {
		return "", err
	}
	return sequenceOf(cmd), err
}

// forcedUntil returns the places of the last forces of sequences that a state knows.
func (w *lives) forcedUntil(moment int) map[string]int {
	if w.life > 1 {
		return w.forced
	}
	places := map[string]int{}
	for _, f := range w.forces {
		if f.place <= moment {
			places[f.name] = f.place
		}
	}
	return places
}

func (w *lives) unnumber(c *commandv1.ReturnBlock) error {
	for _, claim := range w.claims {
		if b := claim.block; claim.life == w.life && claim.name == c.GetName() && b.Token == c.GetToken() {
			for i := b.Count - c.GetUnused(); i < b.Count; i++ {
				delete(w.numbers, livesNumber{c.GetName(), b.Period, numberAt(b.First, i, b.Increment)})
			}
			return nil
		}
	}
	return violated("claim", "life %d took back a block of token %d, which is not its own", w.life, c.GetToken())
}
