package fsm

import (
	"flag"
	"fmt"
	"hash/maphash"
	"iter"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/internal/test/breadth"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// Every ledger: every order of a few commands about a gapless sequence of three numbers. Two keys are reserved; the claims of
// all answers, the latest of each key and the first, confirm and void; a number is taken; a backup is restored and resumed, and
// unknown numbers are resolved. After each command, the state has the fates of the books. No number becomes that of two
// claims, unless the claim before made it void as never committed in the same life.

// everyLedgerNode is a state with its books. The claims are the first and the last answer of each key.
type everyLedgerNode struct {
	fsm    *State
	books  *books
	index  uint64
	claims [2][2]Reservation
	owners [4]everyOwner // owners of the numbers 1 to 3
	life   uint8

	backup *State
	kept   *books
}

// everyOwner is the last claim of a number.
type everyOwner struct {
	key   uint8 // place of the key, from 1
	life  uint8
	free  bool // the claim made the number void as never committed
	taken bool
}

var everyLedgerKeys = [2]string{"a", "b"}

func newEveryLedger(t *testing.T) *everyLedgerNode {
	l := newLedgerLog(t, plain("inv", reusing, numbers(1, 1, 1, 3)))
	return &everyLedgerNode{
		fsm: l.State, index: l.index, life: 1,
		books: &books{
			reuse: true, max: 3, next: map[int32]int64{}, cut: map[int32]bool{}, fates: map[bookNumber]bookFate{}, keys: map[string]bookKey{},
		},
	}
}

// clone returns a copy whose state can be changed.
func (n *everyLedgerNode) clone() *everyLedgerNode {
	c := *n
	c.fsm, c.books = cloneState(n.fsm), n.books.clone()
	return &c
}

// do applies a command to a copy, and compares it with the books; nil if the command is refused.
func (n *everyLedgerNode) do(cmd *commandv1.Command, books func(*books, uint64) commandv1.Refusal) (*everyLedgerNode, Result, error) {
	c := n.clone()
	c.index++
	r := c.fsm.Apply(c.index, 0, cmd)
	after := c.books.clone()
	want, got := books(after, c.index), commandv1.Refusal(0)
	if r.Err != nil {
		got = r.Err.Reason
	}
	if c.books.frozen && want == 0 {
		want = frozen
	}
	if want != got {
		return c, r, violated("reason", "%v: %v (%v), want %v", cmd, got, r.Err, want)
	}
	if r.Err != nil {
		return nil, r, nil
	}
	c.books = after
	return c, r, c.books.compare(c.fsm, "inv")
}

type everyLedgerAction struct {
	name string
	do   func(n *everyLedgerNode) (*everyLedgerNode, error)
}

var everyLedgerActions = func() (all []everyLedgerAction) {
	add := func(name string, do func(n *everyLedgerNode) (*everyLedgerNode, error)) {
		all = append(all, everyLedgerAction{name, do})
	}
	for k, key := range everyLedgerKeys {
		add("reserve "+key, func(n *everyLedgerNode) (*everyLedgerNode, error) { return n.reserve(k) })
		for i, which := range []string{"first", "last"} {
			add(fmt.Sprint("confirm the ", which, " claim of ", key), func(n *everyLedgerNode) (*everyLedgerNode, error) {
				return n.settle(n.claims[k][i], fateConfirmed, false)
			})
			add(fmt.Sprint("void the ", which, " claim of ", key), func(n *everyLedgerNode) (*everyLedgerNode, error) {
				return n.settle(n.claims[k][i], fateVoid, false)
			})
			add(fmt.Sprint("free the ", which, " claim of ", key), func(n *everyLedgerNode) (*everyLedgerNode, error) {
				return n.settle(n.claims[k][i], fateVoid, true)
			})
		}
	}
	add("take 2", func(n *everyLedgerNode) (*everyLedgerNode, error) {
		cmd := takeIn("inv", n.generation(), 0, 2, 1)
		next, _, err := n.do(cmd, func(b *books, _ uint64) commandv1.Refusal { return b.take(cmd.GetTakeNumbers()) })
		if next != nil {
			next.owners[2] = everyOwner{life: n.life, taken: true}
		}
		return next, err
	})
	for number := range int64(3) {
		for _, used := range []bool{false, true} {
			add(fmt.Sprint("resolve ", number+1, " as used: ", used), func(n *everyLedgerNode) (*everyLedgerNode, error) {
				cmd := resolve("inv", 0, number+1, 1, used)
				next, _, err := n.do(cmd, func(b *books, _ uint64) commandv1.Refusal {
					return b.resolve(cmd.GetResolveNumbers(), n.fsm.Restored() != nil)
				})
				return next, err
			})
		}
	}
	add("back up", func(n *everyLedgerNode) (*everyLedgerNode, error) {
		if n.life > 1 {
			return nil, nil
		}
		next := n.clone()
		next.backup, next.kept = cloneState(n.fsm), n.books.clone()
		return next, nil
	})
	add("restore", (*everyLedgerNode).restore)
	return all
}()

func (n *everyLedgerNode) generation() uint64 {
	q, _ := n.fsm.Sequence("inv")
	return q.Generation
}

func (n *everyLedgerNode) reserve(k int) (*everyLedgerNode, error) {
	cmd := reserveIn("inv", n.generation(), 0, everyLedgerKeys[k])
	next, r, err := n.do(cmd, func(b *books, index uint64) commandv1.Refusal {
		_, reason := b.reserve(cmd.GetReserveNumbers(), index, 0)
		return reason
	})
	if next == nil || err != nil {
		return next, err
	}
	got := r.Reservations[0]
	next.claims[k][1] = got
	if n.claims[k][0].Key == "" {
		next.claims[k][0] = got
	}
	if got.Reservation != next.index {
		return next, nil
	}
	if was := n.owners[got.Number]; was != (everyOwner{}) && !(was.free && was.life == n.life) {
		return next, violated("number", "%+v was drawn, and had the owner %+v in life %d", got, was, n.life)
	}
	next.owners[got.Number] = everyOwner{key: uint8(k + 1), life: n.life}
	return next, nil
}

func (n *everyLedgerNode) settle(claim Reservation, want commandv1.FateKind, free bool) (*everyLedgerNode, error) {
	if claim.Key == "" {
		return nil, nil
	}
	cmd := confirm("inv", claimOf(claim))
	if want == fateVoid {
		if cmd = void("inv", "canceled", claimOf(claim)); free {
			cmd = neverCommitted(cmd)
		}
	}
	open := n.books.keys[claim.Key].state == fateOpen
	next, _, err := n.do(cmd, func(b *books, _ uint64) commandv1.Refusal {
		return b.settle([]*commandv1.ReservationClaim{claimOf(claim)}, want, free, 0, 0)
	})
	if next != nil && open {
		next.owners[claim.Number].free = free
	}
	return next, err
}

// restore restores the backup and resumes the sequence after the last number that either life knows.
func (n *everyLedgerNode) restore() (*everyLedgerNode, error) {
	if n.backup == nil {
		return nil, nil
	}
	next := *n
	next.fsm, next.books, next.backup, next.kept, next.life = cloneState(n.backup), n.kept.clone(), nil, nil, n.life+1
	if err := next.fsm.Restore(restoration(next.fsm)); err != nil {
		return nil, err
	}
	next.books.doubt(0)
	next.index = next.fsm.index
	last := int64(0)
	for number, owner := range n.owners {
		if owner != (everyOwner{}) {
			last = int64(number)
		}
	}
	cmd := resume("inv", next.generation(), &last, 0)
	next.index++
	if r := next.fsm.Apply(next.index, 0, cmd); r.Err != nil {
		return nil, violated("resume", "%v", r.Err)
	}
	next.books.resume(&last)
	return &next, next.books.compare(next.fsm, "inv")
}

// key returns a hash of what can follow: indexes count by their order among the claims only.
func (n *everyLedgerNode) key() uint64 {
	type claimKey struct {
		number  int64
		attempt uint32
		present bool // state of the key's last reservation
	}
	k := struct {
		fates, kept  [4]bookFate
		keys, old    [2]bookKey
		next, keptTo int64
		claims       [2][2]claimKey
		owners       [4]everyOwner
		life         uint8
		backup       bool
	}{owners: n.owners, life: n.life, backup: n.backup != nil}
	fill := func(b *books, fates *[4]bookFate, keys *[2]bookKey, next *int64) {
		if b == nil {
			return
		}
		for i := range fates {
			fates[i] = b.fates[bookNumber{0, int64(i)}]
		}
		for i, key := range everyLedgerKeys {
			keys[i] = b.keys[key]
			keys[i].reservation = 0
		}
		*next = b.next[0]
	}
	fill(n.books, &k.fates, &k.keys, &k.next)
	fill(n.kept, &k.kept, &k.old, &k.keptTo)
	for i := range n.claims {
		for j, c := range n.claims[i] {
			k.claims[i][j] = claimKey{c.Number, c.Attempt, c.Reservation == n.books.keys[everyLedgerKeys[i]].reservation}
		}
	}
	return maphash.Comparable(everySeed, k)
}

var everyLedgerDepth = flag.Int("fsm.ledger", depth.Walk(depth.Little(4, 5), 8, 10), "how many steps the walk over every ledger takes")

func TestEveryLedger(t *testing.T) {
	t.Parallel()
	seen, err := breadth.World[*everyLedgerNode]{
		Root: newEveryLedger(t), Key: (*everyLedgerNode).key,
		Steps: func(n *everyLedgerNode) iter.Seq[breadth.Step[*everyLedgerNode]] {
			return func(yield func(breadth.Step[*everyLedgerNode]) bool) {
				for _, act := range everyLedgerActions {
					next, err := act.do(n)
					if next == nil && err == nil {
						continue
					}
					if next == nil {
						next = n
					}
					if !yield(breadth.Step[*everyLedgerNode]{Name: act.name, Next: next, Err: err}) {
						return
					}
				}
			}
		},
	}.Walk(*everyLedgerDepth)
	t.Logf("%d states, %d steps within depth %d", seen.States, seen.Steps, *everyLedgerDepth)
	if err != nil {
		t.Fatal(err)
	}
}
