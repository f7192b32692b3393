package fsm

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snowraft/snowraft/internal/position"
)

// Verdict is a history's answer about a position that is claimed to be in it.
type Verdict int

// The verdicts about a position.
const (
	// Unknown means that the position is of another life, or beyond the last command, or of a leadership and a hash that
	// the state forgot.
	Unknown Verdict = iota
	// Consistent means that the history contains the position.
	Consistent
	// Missing means that the position is beyond the last command, under a leadership that the history does not have. It
	// contradicts a complete history, but not a replica that lags.
	Missing
	// SetBack means that the history contradicts the position, whatever follows: one of the two is of a set-back branch.
	SetBack
)

// Judge compares a position of this cluster with the history of this replica. The reason says what contradicts it; it
// is empty for [Unknown] and [Consistent]. The position must be one that [Machine.Position] returned, not a mix of two.
func (m *Machine) Judge(p position.Position) (verdict Verdict, reason string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.judge(p)
}

// judge is a part of the state machine: the Seal command depends on the verdict, which must not change in later builds.
func (s *State) judge(p position.Position) (Verdict, string) {
	if p.Life != s.life() {
		return Unknown, ""
	}
	if reason := s.lineage.differs(p, s.index); reason != "" {
		return SetBack, reason
	}
	return s.lineage.judge(p, s.index)
}

// judge compares the leadership that p names with the one in office at its index, in a history up to the index last.
func (l *lineage) judge(p position.Position, last uint64) (Verdict, string) {
	in, known := l.at(p.Index)
	switch {
	case !known, in.nonce == p.Nonce && p.Index > last:
		return Unknown, ""
	case in.nonce == p.Nonce:
		return Consistent, ""
	case p.Index > last && p.Nonce != noNonce && !l.knows(p.Nonce):
		return Missing, fmt.Sprintf("index %d was committed under %s, which is not in this history", p.Index, office(p.Nonce))
	}
	return SetBack, fmt.Sprintf("index %d was committed under %s, and this history has %s there, since index %d of term %d",
		p.Index, office(p.Nonce), office(in.nonce), in.index, in.term)
}

// differs returns how the hash of p differs from that of a history up to the index last; empty if it does not, or if the
// history has forgotten that hash.
func (l *lineage) differs(p position.Position, last uint64) string {
	if len(l.clocks) == 0 || p.HashIndex < l.clocks[0].index || p.HashIndex > last {
		return ""
	}
	at, found := slices.BinarySearchFunc(l.clocks, p.HashIndex, func(c clockHash, index uint64) int { return cmp.Compare(c.index, index) })
	switch {
	case !found:
		return fmt.Sprintf("a clock was committed at index %d, and this history has another command there", p.HashIndex)
	case l.clocks[at].hash != p.Hash:
		return fmt.Sprintf("the commands up to index %d have the hash %x, and %x in this history", p.HashIndex, p.Hash[:4], l.clocks[at].hash[:4])
	}
	return ""
}

// life returns the number of restores that led to this cluster.
func (s *State) life() uint32 { return uint32(len(s.restored.GetAncestors())) }

// office names the leadership with a nonce.
func office(nonce [nonceBytes]byte) string {
	if nonce == noNonce {
		return "no recorded leadership"
	}
	return fmt.Sprintf("leadership %x", nonce[:4])
}
