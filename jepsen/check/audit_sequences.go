package check

import (
	"bytes"
	"math/bits"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// sequenceModel is the rules of blocks, stated a second time.
type sequenceModel struct {
	v       *Verdict
	byName  map[string]*numbersModel
	answers map[answerKey]answerModel
	closed  bool // to new names, by a restore
}

// answerKey names a request that may be repeated.
type answerKey struct {
	incarnation uint64
	request     string
}

type answerModel struct {
	first int64
	count uint64
}

// numbersModel is a sequence, since it was created.
type numbersModel struct {
	spec        *commandv1.SequenceSpec
	incarnation uint64
	period      int32
	granted     []interval // of the period, ascending and disjoint, since numbers were forced to repeat last
	last        lastBlock
	frozen      bool // by a restore
}

// interval is numbers that are increment apart, of which low and high are the first and the last.
type interval struct{ low, high int64 }

// lastBlock is the block that can be returned; its token is 0 if there is none.
type lastBlock struct {
	token     uint64
	first     int64
	count     uint64
	increment int64
	keyHash   []byte
}

func newSequenceModel(v *Verdict) *sequenceModel {
	return &sequenceModel{v: v, byName: map[string]*numbersModel{}, answers: map[answerKey]answerModel{}}
}

func (m *sequenceModel) take(e *raftlog.Applied) {
	if e.Result.Failure() != nil {
		return
	}
	switch body := e.Command.GetBody().(type) {
	case *commandv1.Command_CreateSequence:
		m.create(e, body.CreateSequence)
	case *commandv1.Command_UpdateSequence:
		m.update(e, body.UpdateSequence)
	case *commandv1.Command_ResumeSequence:
		m.resume(body.ResumeSequence)
	case *commandv1.Command_AcknowledgeRestore:
		m.closed = false
	case *commandv1.Command_DeleteSequence:
		delete(m.byName, body.DeleteSequence.GetName())
	case *commandv1.Command_AllocateBlock:
		m.allocate(e, body.AllocateBlock)
	case *commandv1.Command_ReturnBlock:
		m.giveBack(e, body.ReturnBlock)
	}
}

func (m *sequenceModel) create(e *raftlog.Applied, c *commandv1.CreateSequence) {
	if q := m.byName[c.GetSpec().GetName()]; q != nil { // the same again
		return
	}
	if m.closed {
		m.v.fail("index %d creates sequence %q, which an earlier cluster may have had, and the restore was not acknowledged", e.Index, c.GetSpec().GetName())
	}
	m.byName[c.GetSpec().GetName()] = &numbersModel{spec: c.GetSpec(), incarnation: e.Index, period: c.GetPeriod()}
}

func (m *sequenceModel) update(e *raftlog.Applied, c *commandv1.UpdateSequence) {
	q := m.byName[c.GetSpec().GetName()]
	if q == nil {
		m.v.fail("index %d changes sequence %q, which does not exist", e.Index, c.GetSpec().GetName())
		return
	}
	q.spec, q.last = c.GetSpec(), lastBlock{}
	if c.GetForce() {
		q.granted = nil // somebody wants numbers to repeat
	}
}

func (m *sequenceModel) allocate(e *raftlog.Applied, c *commandv1.AllocateBlock) {
	b := &e.Result.Block
	m.v.Facts[factBlocks]++
	wrong := func(why string, args ...any) {
		m.v.fail("index %d grants %d numbers of sequence %q from %d in steps of %d, period %d: "+why,
			append([]any{e.Index, b.Count, c.GetName(), b.First, b.Increment, b.Period}, args...)...)
	}
	q := m.byName[c.GetName()]
	if q == nil {
		wrong("it does not exist")
		return
	}
	key := answerKey{q.incarnation, string(c.GetRequestId())}
	if b.Repeated {
		if had, ok := m.answers[key]; !ok || had != (answerModel{b.First, b.Count}) {
			wrong("an answer repeated that was never given (%+v)", had)
		}
		return
	}
	if len(c.GetRequestId()) > 0 {
		m.answers[key] = answerModel{b.First, b.Count}
	}
	block, ok := span(b.First, b.Count, b.Increment)
	switch {
	case !ok:
		wrong("they are not all numbers of 64 bits")
		return
	case q.frozen:
		wrong("this cluster was restored, and the sequence was not resumed")
	case b.Count > c.GetCount() || c.GetWhole() && b.Count < c.GetCount():
		wrong("%d were asked for", c.GetCount())
	case b.Increment != q.spec.GetIncrement():
		wrong("its increment is %d", q.spec.GetIncrement())
	case block.low < q.spec.GetMin() || block.high > q.spec.GetMax():
		wrong("expected %d to %d", q.spec.GetMin(), q.spec.GetMax())
	case b.Period < q.period:
		wrong("period %d had begun", q.period)
	}
	if b.Period > q.period {
		q.period, q.granted = b.Period, nil
	}
	if other, overlaps := q.add(block, b.Increment); overlaps {
		wrong("numbers between %d and %d were granted already in this period", other.low, other.high)
	}
	q.last = lastBlock{e.Index, b.First, b.Count, b.Increment, c.GetReturnKeyHash()}
	if len(c.GetRequestId()) > 0 || len(c.GetReturnKeyHash()) == 0 {
		q.last = lastBlock{}
	}
}

// span is the first and the last of some numbers; ok is false if there are none, or some are no int64.
func span(first int64, count uint64, increment int64) (interval, bool) {
	if count == 0 || increment == 0 {
		return interval{}, false
	}
	step, room := uint64(increment), uint64(1<<63-1)-uint64(first) //nolint:gosec // G115: wraps as it should
	if increment < 0 {
		step, room = -step, uint64(first)+1<<63 //nolint:gosec // G115: as above
	}
	over, distance := bits.Mul64(count-1, step)
	if over != 0 || distance > room {
		return interval{}, false
	}
	if increment < 0 {
		return interval{int64(uint64(first) - distance), first}, true //nolint:gosec // G115: as above
	}
	return interval{first, int64(uint64(first) + distance)}, true //nolint:gosec // G115: as above
}

// add notes that numbers were granted, and returns others that they may meet.
func (q *numbersModel) add(block interval, increment int64) (met interval, overlaps bool) {
	at, _ := slices.BinarySearchFunc(q.granted, block.low, func(i interval, low int64) int {
		if i.high < low {
			return -1
		}
		return 1
	})
	if at < len(q.granted) && q.granted[at].low <= block.high {
		return q.granted[at], true
	}
	step := max(increment, -increment)
	if at > 0 && apart(q.granted[at-1].high, block.low, step) {
		q.granted[at-1].high = block.high
		return interval{}, false
	}
	if at < len(q.granted) && apart(block.high, q.granted[at].low, step) {
		q.granted[at].low = block.low
		return interval{}, false
	}
	q.granted = slices.Insert(q.granted, at, block)
	return interval{}, false
}

// apart reports whether a number follows another one, step further on.
func apart(low, high, step int64) bool { return uint64(high)-uint64(low) == uint64(step) } //nolint:gosec // G115: wraps as it should

// giveBack checks that the numbers are the end of the last block, and notes that they are free.
func (m *sequenceModel) giveBack(e *raftlog.Applied, c *commandv1.ReturnBlock) {
	q := m.byName[c.GetName()]
	claimed := q != nil && q.last.token != 0 && q.last.token == c.GetToken() && bytes.Equal(q.last.keyHash, c.GetReturnKeyHash())
	if !claimed || c.GetUnused() == 0 || c.GetUnused() > q.last.count {
		m.v.fail("index %d takes %d numbers of sequence %q back under token %d, which are not the end of its last block", e.Index,
			c.GetUnused(), c.GetName(), c.GetToken())
		return
	}
	kept := q.last.count - c.GetUnused()
	first := uint64(q.last.first) + kept*uint64(q.last.increment)      //nolint:gosec // G115: wraps as it should
	returned, _ := span(int64(first), c.GetUnused(), q.last.increment) //nolint:gosec // G115: as above
	q.remove(returned, max(q.last.increment, -q.last.increment))
	q.last = lastBlock{}
}

// remove takes numbers at an end of an interval out of it.
func (q *numbersModel) remove(returned interval, step int64) {
	for i := range q.granted {
		g := &q.granted[i]
		switch {
		case g.low == returned.low && g.high == returned.high:
			q.granted = slices.Delete(q.granted, i, i+1)
			return
		case g.high == returned.high:
			g.high = int64(uint64(returned.low) - uint64(step)) //nolint:gosec // G115: in the interval
			return
		case g.low == returned.low:
			g.low = int64(uint64(returned.high) + uint64(step)) //nolint:gosec // G115: in the interval
			return
		}
	}
}
