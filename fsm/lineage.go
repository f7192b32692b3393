package fsm

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	// LineageVersion is the fsm_version from which on the state records its lineage, and accepts Lead and Seal.
	LineageVersion = 2

	nonceBytes = 16 // length of the nonce of a leadership, and of a hash of commands

	// The greatest numbers of leaderships and of hashes that are remembered. Clocks are committed once per second.
	maxLeaderships = 1 << 14
	maxClocks      = 1 << 12
)

// lineage identifies the history that led to a state. Histories that parted differ in the nonces of the leaderships
// since, or in the hash of the commands, even if terms and indexes are equal. It only appends, and never changes what it
// appended, so copies share memory.
type lineage struct {
	leaderships []leadership     // oldest first
	hash        [nonceBytes]byte // hash of all commands
	clocks      []clockHash      // after each of the last ObserveClock commands, oldest first
}

// leadership is one leader's time in office, which begins with a Lead command.
type leadership struct {
	index, term uint64 // place of the Lead command
	nonce       [nonceBytes]byte
}

// clockHash is the hash of all commands up to an ObserveClock command.
type clockHash struct {
	index uint64
	hash  [nonceBytes]byte
}

// noNonce stands for no leadership.
var noNonce [nonceBytes]byte

// record adds a command to the lineage.
func (s *State) record(e entry) {
	data := e.data
	if data == nil {
		data, _ = Encode(e.cmd) // a command that was applied can be encoded
	}
	b := append(s.scratch[:0], s.lineage.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, e.index)
	b = binary.BigEndian.AppendUint64(b, e.term)
	s.scratch = append(b, data...)
	sum := sha256.Sum256(s.scratch)
	s.lineage.hash = [nonceBytes]byte(sum[:])
	if e.cmd.GetObserveClock() != nil {
		s.lineage.clocks = push(s.lineage.clocks, clockHash{e.index, s.lineage.hash}, maxClocks)
	}
}

// push appends e to a queue, and drops the oldest element of more than most.
func push[E any](queue []E, e E, most int) []E {
	queue = append(queue, e)
	return queue[max(0, len(queue)-most):]
}

// lead begins a leadership. Repeating it changes nothing.
func (s *State) lead(e entry) Result {
	nonce, ok := nonceOf(e.cmd.GetLead().GetNonce())
	if !ok {
		return Result{Err: invalid("nonce of a leadership: %d bytes, expected %d that are not all 0", len(e.cmd.GetLead().GetNonce()), nonceBytes)}
	}
	if last := s.lineage.last(); last.nonce != nonce || last.term != e.term {
		s.lineage.leaderships = push(s.lineage.leaderships, leadership{e.index, e.term, nonce}, maxLeaderships)
	}
	return Result{}
}

func nonceOf(b []byte) (nonce [nonceBytes]byte, ok bool) {
	if len(b) != nonceBytes {
		return nonce, false
	}
	nonce = [nonceBytes]byte(b)
	return nonce, nonce != noNonce
}

// last returns the present leadership; the zero value before the first.
func (l *lineage) last() leadership {
	if len(l.leaderships) == 0 {
		return leadership{}
	}
	return l.leaderships[len(l.leaderships)-1]
}

// at returns the leadership that was in office at an index: the zero value before the first. known is false if it was
// forgotten.
func (l *lineage) at(index uint64) (in leadership, known bool) {
	after, _ := slices.BinarySearchFunc(l.leaderships, index, func(in leadership, index uint64) int {
		if in.index <= index {
			return -1
		}
		return 1
	})
	if after == 0 {
		return leadership{}, len(l.leaderships) < maxLeaderships
	}
	return l.leaderships[after-1], true
}

// knows reports whether a nonce is that of a remembered leadership.
func (l *lineage) knows(nonce [nonceBytes]byte) bool {
	return slices.ContainsFunc(l.leaderships, func(in leadership) bool { return in.nonce == nonce })
}

// walkLineage visits the leaderships and the hashes at clocks.
func (im image) walkLineage(visit func(*commandv1.SnapshotRecord)) {
	in := &commandv1.SnapshotLeadership{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Leadership{Leadership: in}}
	for _, l := range im.lineage.leaderships {
		in.Index, in.Term, in.Nonce = l.index, l.term, l.nonce[:]
		visit(record)
	}
	at := &commandv1.SnapshotClock{}
	record = &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Clock{Clock: at}}
	for _, c := range im.lineage.clocks {
		at.Index, at.Hash = c.index, c.hash[:]
		visit(record)
	}
}
