package fsm

import (
	"math/bits"
	"testing"
)

// everyAway is the other system to which the sequence moves. It issues numbers as long as the sequence is there.
type everyAway struct {
	away   bool
	abroad int64 // next number there
	last   int64 // last number issued there; 0 if there is none
}

// newEveryMove returns a cluster that knows moves.
func newEveryMove(t *testing.T) *everyNode {
	t.Helper()
	n := newEveryLife(t)
	if r := n.apply(raise(Version)); r.Err != nil {
		t.Fatal(r.Err)
	}
	return n
}

// everyMoves move the sequence to the other system and back. The operator sets that system to the next number of the sequence, and
// states its last number when the sequence returns.
var everyMoves = []everyAction{
	{"move", func(n *everyNode) (*everyNode, error) {
		next, r := n.propose(move("s"))
		if next == nil {
			return nil, nil
		}
		next.away, next.abroad = true, max(n.abroad, r.Sequence.Next)
		if last := int64(bits.Len8(n.given.all())) - 1; r.Sequence.Next <= last && !n.away {
			return next, violated("moved", "the next number is %d, and %d was granted", r.Sequence.Next, last)
		}
		return next, nil
	}},
	{"issue elsewhere", func(n *everyNode) (*everyNode, error) {
		if !n.away || n.abroad > 6 {
			return nil, nil
		}
		next := *n
		next.last, next.abroad = n.abroad, n.abroad+1
		_, err := next.give(BlockGrant{First: n.abroad, Count: 1, Increment: 1})
		return &next, err
	}},
	{"take back", func(n *everyNode) (*everyNode, error) {
		q, ok := n.fsm.Sequence("s")
		if !ok || !q.Moved || q.Frozen {
			return nil, nil
		}
		next, _ := n.propose(resume("s", q.Generation, &n.last, 0))
		if next != nil {
			next.away = false
		}
		return next, nil
	}},
}
