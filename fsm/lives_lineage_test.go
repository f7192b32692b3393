package fsm

import (
	"encoding/binary"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/internal/position"
)

// The lineage in the lives: each replica judges all positions of its life that were committed, whatever snapshots and logs it was
// read from, and the branches of one that was set back contradict each other.

// history raises the version, begins a leadership or, rarely, seals the cluster or presents a committed position, which seals nothing.
func (w *lives) history(s *State) *commandv1.Command {
	kind := w.choose("history", 32)
	switch {
	case s.FSMVersion() < LineageVersion:
		return raise(LineageVersion)
	case kind == 0:
		return &commandv1.Command{Body: &commandv1.Command_Seal{Seal: &commandv1.Seal{Reason: "an operator sealed it"}}}
	case kind < 6 && len(w.positions) > 0:
		p := w.positions[w.choose("position", len(w.positions))]
		if p.Index > s.index {
			return nil // no leader with a log that can commit lacks it
		}
		return &commandv1.Command{Body: &commandv1.Command_Seal{Seal: &commandv1.Seal{Evidence: p.Append(nil), Witness: "a"}}}
	}
	w.led++
	nonce := make([]byte, nonceBytes) // names this life or branch
	binary.BigEndian.PutUint64(nonce, uint64(w.life))
	binary.BigEndian.PutUint64(nonce[8:], w.led)
	return &commandv1.Command{Body: &commandv1.Command_Lead{Lead: &commandv1.Lead{Nonce: nonce}}}
}

// checkHistory checks a command that took effect in a state that was sealed or not, and keeps the position after it.
func (w *lives) checkHistory(sealed bool, cmd *commandv1.Command, r Result) error {
	if cmd.GetSeal().GetEvidence() != nil && !sealed {
		return violated("seal", "%v took effect, and nothing was set back", cmd)
	}
	if w.s.FSMVersion() >= LineageVersion && w.choose("keep position", 4) == 0 {
		w.positions = append(w.positions, w.s.position())
	}
	return checkSealed(sealed, cmd, r)
}

// committed checks that a replica of this life judges all of its positions.
func (w *lives) committed(replica *State) error {
	for _, p := range w.positions {
		verdict, why := replica.judge(p)
		if verdict == SetBack || p.Index <= replica.index && verdict != Consistent {
			return violated("judge", "a replica at index %d gives verdict %d about the committed position %+v: %s", replica.index, verdict, p, why)
		}
	}
	return nil
}

// contradict checks that neither of two branches takes a position of the other for its own.
func contradict(a, b *lives) error {
	for _, c := range [][2]*lives{{a, b}, {b, a}} {
		p := c[0].s.position()
		if p.Nonce == noNonce || binary.BigEndian.Uint64(p.Nonce[:]) != uint64(c[0].life) {
			continue // no leadership since the branches parted
		}
		read, err := position.Parse(p.Append(nil))
		if err != nil {
			return violated("position", "%v", err)
		}
		if verdict, _ := c[1].s.judge(read); verdict != SetBack && (verdict != Missing || p.Index <= c[1].s.index) {
			return violated("judge", "a branch at index %d gives verdict %d about a position of the other: %+v", c[1].s.index, verdict, p)
		}
	}
	return nil
}
