package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The exhaustive search over one name: blocks, returns that come late and twice, and
// every change that is not forced. No number may be granted twice in one period, nor
// without periods, whatever became of the sequence in between.

// seqSearchSpecs are the specifications that the sequence changes between.
var seqSearchSpecs = []*commandv1.SequenceSpec{
	plain("s", numbers(1, 1, 1, 6)),
	plain("s", numbers(1, 2, 1, 7)),
	plain("s", numbers(6, -1, 1, 7)),
	plain("s", numbers(2, 1, 2, 4)),
	plain("s", numbers(1, 1, 1, 6), resetting(resetDaily)),
}

var seqSearchPeriods = []int32{0, 20250101, 20250102}

// seqBlock is a block that was granted.
type seqBlock struct {
	token, count     uint64
	first, increment int64
	period           uint8
	last             bool // block can be returned
}

type seqKey struct {
	live, buried bool
	spec         uint8
	base         int64
	granted      uint64
	lastFrom     uint64
	returnable   uint8 // number of the returnable block, from 1; 0 if none
	used         hull
	period       int32
	ghosts       [3]uint8 // one bit per number, by period
	blocks       [2]seqBlock
}

type seqNode struct {
	fsm    *State
	ghosts [3]uint8
	blocks [2]seqBlock // the last two
}

type seqSearch struct {
	seen    map[seqKey]int
	path    []string
	actions []seqAction
}

type seqAction struct {
	name string
	cmd  func(n *seqNode) *commandv1.Command
}

func exploreSequences(depth int) (nodes int, err error) {
	root := &seqNode{fsm: NewState()}
	root.fsm.Apply(1, 0, raise(Version))
	s := &seqSearch{seen: map[seqKey]int{}, actions: seqActions()}
	err = s.visit(root, 2, depth)
	return len(s.seen), err
}

func (n *seqNode) generation() uint64 {
	q, _ := n.fsm.Sequence("s")
	return q.Generation
}

func seqActions() []seqAction {
	all := []seqAction{{"delete", func(*seqNode) *commandv1.Command { return remove("s") }}}
	add := func(name string, cmd func(n *seqNode) *commandv1.Command) { all = append(all, seqAction{name, cmd}) }
	for i, spec := range seqSearchSpecs {
		add(fmt.Sprint("update ", i), func(n *seqNode) *commandv1.Command { return change(spec, n.generation()) })
		for _, next := range []int64{2, 5} {
			add(fmt.Sprint("set ", i, next), func(n *seqNode) *commandv1.Command { return set(spec, n.generation(), next) })
		}
		for p, period := range seqSearchPeriods {
			if (p == 0) == (spec.GetReset_() == resetNone) {
				add(fmt.Sprint("create ", i, " in ", p), func(*seqNode) *commandv1.Command { return create(spec, period) })
			}
		}
	}
	for p, period := range seqSearchPeriods {
		for _, count := range []uint64{1, 3} {
			add(fmt.Sprint("allocate ", count, " in ", p), func(n *seqNode) *commandv1.Command {
				return allocate("s", n.generation(), count, period)
			})
		}
	}
	for i := range 2 {
		add(fmt.Sprint("return one of block ", i), func(n *seqNode) *commandv1.Command {
			return giveBack("s", n.blocks[i].token, 1)
		})
		add(fmt.Sprint("return block ", i), func(n *seqNode) *commandv1.Command {
			return giveBack("s", n.blocks[i].token, n.blocks[i].count)
		})
		add(fmt.Sprint("return another's block ", i), func(n *seqNode) *commandv1.Command {
			return withKey(giveBack("s", n.blocks[i].token, n.blocks[i].count), nonceHash('x'))
		})
	}
	return all
}

func (s *seqSearch) visit(n *seqNode, index uint64, left int) error {
	if left == 0 {
		return nil
	}
	key := n.key()
	if s.seen[key] >= left {
		return nil
	}
	s.seen[key] = left
	for _, act := range s.actions {
		next := &seqNode{fsm: cloneState(n.fsm), ghosts: n.ghosts, blocks: n.blocks}
		cmd := act.cmd(next)
		r := next.fsm.Apply(index, 0, cmd)
		if r.Err != nil {
			continue
		}
		s.path = append(s.path, act.name)
		err := next.account(cmd, r)
		if err == nil {
			err = s.visit(next, index+1, left-1)
		} else if _, reported := errors.AsType[searchFailure](err); !reported {
			err = searchFailure{err, fmt.Sprint(s.path)}
		}
		s.path = s.path[:len(s.path)-1]
		if err != nil {
			return err
		}
	}
	return nil
}

// account audits the effect of a command.
func (n *seqNode) account(cmd *commandv1.Command, r Result) error {
	switch {
	case cmd.GetAllocateBlock() != nil:
		return n.take(r.Block)
	case cmd.GetReturnBlock() != nil:
		return n.giveBack(cmd.GetReturnBlock())
	case cmd.GetUpdateSequence() != nil && r.Sequence.Numbering != r.Index:
	case cmd.GetCreateSequence() == nil || r.Sequence.Incarnation == r.Index:
		n.blocks[0].last = false
	}
	return nil
}

func (n *seqNode) take(b BlockGrant) error {
	period := uint8(0)
	for seqSearchPeriods[period] != b.Period {
		period++
	}
	block := seqBlock{token: b.Token, count: b.Count, first: b.First, increment: b.Increment, period: period, last: true}
	for _, later := range n.ghosts[period+1:] {
		if period > 0 && later != 0 {
			return violated("period", "%+v, after a later one", b)
		}
	}
	mask, err := block.mask(b.Count)
	if err != nil {
		return err
	}
	if n.ghosts[period]&mask != 0 {
		return violated("number", "%+v was granted before: %b", b, n.ghosts)
	}
	// A number that was granted without a reset may read as one of any day.
	if period > 0 && n.ghosts[0]&mask != 0 || period == 0 && (n.ghosts[1]|n.ghosts[2])&mask != 0 {
		return violated("reset", "%+v was granted without a reset, or in a period, before: %b", b, n.ghosts)
	}
	n.ghosts[period] |= mask
	n.blocks[1], n.blocks[0] = n.blocks[0], block
	n.blocks[1].last = false
	return nil
}

func (n *seqNode) giveBack(c *commandv1.ReturnBlock) error {
	block := &n.blocks[0]
	if !block.last || !bytes.Equal(c.GetReturnKeyHash(), returnKeyHash) || c.GetToken() != block.token || c.GetUnused() > block.count {
		return violated("owner", "%v was taken, the last block is %+v", c, *block)
	}
	all, _ := block.mask(block.count)
	rest, _ := block.mask(block.count - c.GetUnused())
	n.ghosts[block.period] &^= all &^ rest
	block.last = false
	return nil
}

// mask has the bits of the block's first numbers.
func (b seqBlock) mask(count uint64) (mask uint8, err error) {
	for i := range count {
		number := b.first + int64(i)*b.increment
		if number < 1 || number > 7 {
			return 0, violated("range", "%+v", b)
		}
		mask |= 1 << number
	}
	return mask, nil
}

func (n *seqNode) key() seqKey {
	k := seqKey{ghosts: n.ghosts, blocks: n.blocks}
	q, live := n.fsm.sequences.live.Get("s")
	if !live {
		q, k.buried = n.fsm.sequences.deleted.Get("s")
	}
	k.live = live
	for i := range k.blocks {
		if q != nil && q.lastToken != 0 && q.lastToken == k.blocks[i].token {
			k.returnable = uint8(i + 1)
		}
		k.blocks[i].token = 0
	}
	if q == nil {
		return k
	}
	k.base, k.granted, k.lastFrom, k.used, k.period = q.base, q.granted, q.lastFrom, q.used, q.period
	for i, spec := range seqSearchSpecs {
		if *compact(spec) == *q.spec {
			k.spec = uint8(i)
		}
	}
	if k.buried { // a deleted sequence keeps no texts of its specification
		k.spec = q.spec.reset<<4 | uint8(q.spec.start)
	}
	return k
}

func TestSequenceSearch(t *testing.T) {
	t.Parallel()
	nodes, err := exploreSequences(*searchDepth)
	t.Logf("%d states within %d steps", nodes, *searchDepth)
	if err != nil {
		t.Fatal(err)
	}
}
