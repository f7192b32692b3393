package check

import (
	"bytes"
	"math/bits"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// sequenceModel is an independent implementation of the rules of sequences and blocks.
type sequenceModel struct {
	v       *Verdict
	byName  map[string]*numbersModel
	answers map[answerKey]answerModel
	closed  bool // restored and not acknowledged: no new names
}

// answerKey identifies a request that may be repeated.
type answerKey struct {
	incarnation uint64
	request     string
}

type answerModel struct {
	first int64
	count uint64
}

// numbersModel is one incarnation of a sequence.
type numbersModel struct {
	spec        *commandv1.SequenceSpec
	incarnation uint64
	period      int32
	// granted holds the granted numbers of each period since the last forced update; ascending, disjoint.
	granted map[int32][]interval
	last    lastBlock
	frozen  bool // restored and not resumed
	// closed is the first period that the last restore did not close, and reopened the earlier ones that were resumed.
	closed   int32
	reopened map[int32]bool
}

// interval is a range of numbers at the distance of the increment, with the lowest and the highest number.
type interval struct{ low, high int64 }

// lastBlock is the block that can be returned. Its token is 0 if there is none.
type lastBlock struct {
	token     uint64
	period    int32
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
	case *commandv1.Command_BeginSequence:
		m.begin(e, body.BeginSequence)
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
	m.add(e, c.GetSpec(), c.GetPeriod())
}

// begin adds a sequence at its first use, with the settings that the result has.
func (m *sequenceModel) begin(e *raftlog.Applied, c *commandv1.BeginSequence) {
	m.add(e, e.Result.Sequence.Spec, c.GetPeriod())
}

func (m *sequenceModel) add(e *raftlog.Applied, spec *commandv1.SequenceSpec, period int32) {
	if m.byName[spec.GetName()] != nil { // repeated creation
		return
	}
	if m.closed {
		m.v.fail("index %d creates sequence %q, which an earlier cluster may have had: the restore was not acknowledged",
			e.Index, spec.GetName())
	}
	m.byName[spec.GetName()] = &numbersModel{spec: spec, incarnation: e.Index, period: period, granted: map[int32][]interval{}}
}

func (m *sequenceModel) update(e *raftlog.Applied, c *commandv1.UpdateSequence) {
	q := m.byName[c.GetSpec().GetName()]
	if q == nil {
		m.v.fail("index %d changes sequence %q, which does not exist", e.Index, c.GetSpec().GetName())
		return
	}
	q.spec, q.last = c.GetSpec(), lastBlock{}
	if c.GetForce() {
		clear(q.granted) // numbers may repeat
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
		wrong("the sequence does not exist")
		return
	}
	key := answerKey{q.incarnation, string(c.GetRequestId())}
	if b.Repeated {
		if had, ok := m.answers[key]; !ok || had != (answerModel{b.First, b.Count}) {
			wrong("this repeats an answer that was never sent; the earlier answer is %+v", had)
		}
		return
	}
	if len(c.GetRequestId()) > 0 {
		m.answers[key] = answerModel{b.First, b.Count}
	}
	block, ok := span(b.First, b.Count, b.Increment)
	switch {
	case !ok:
		wrong("the block is empty or exceeds 64 bits")
		return
	case q.frozen:
		wrong("this cluster was restored, and the sequence was not resumed")
	case b.Count > c.GetCount() || c.GetWhole() && b.Count < c.GetCount():
		wrong("the request was for %d", c.GetCount())
	case b.Increment != q.spec.GetIncrement():
		wrong("the sequence's increment is %d", q.spec.GetIncrement())
	case block.low < q.spec.GetMin() || block.high > q.spec.GetMax():
		wrong("expected numbers from %d to %d", q.spec.GetMin(), q.spec.GetMax())
	case b.Period < q.period && b.Period != c.GetOnlyPeriod():
		wrong("period %d had already begun", q.period)
	case b.Period < q.closed && !q.reopened[b.Period]:
		wrong("this cluster was restored, and the period was not resumed")
	}
	q.period = max(q.period, b.Period)
	if other, overlaps := q.add(b.Period, block, b.Increment); overlaps {
		wrong("numbers between %d and %d were already granted in this period", other.low, other.high)
	}
	switch {
	case b.Period < q.period: // the last block of the present period can still be returned
	case len(c.GetRequestId()) > 0 || len(c.GetReturnKeyHash()) == 0:
		q.last = lastBlock{}
	default:
		q.last = lastBlock{e.Index, b.Period, b.First, b.Count, b.Increment, c.GetReturnKeyHash()}
	}
}

// span returns the interval of count numbers from first. The second result is false if count or increment is 0, or if a
// number exceeds 64 bits.
func span(first int64, count uint64, increment int64) (interval, bool) {
	if count == 0 || increment == 0 {
		return interval{}, false
	}
	step, room := uint64(increment), uint64(1<<63-1)-uint64(first) //nolint:gosec // G115: wraps as intended
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

// add adds the numbers of a block to the granted ones of a period. If the block's span overlaps a granted interval, it returns that
// interval and true instead.
func (q *numbersModel) add(period int32, block interval, increment int64) (met interval, overlaps bool) {
	granted := q.granted[period]
	at, _ := slices.BinarySearchFunc(granted, block.low, func(i interval, low int64) int {
		if i.high < low {
			return -1
		}
		return 1
	})
	if at < len(granted) && granted[at].low <= block.high {
		return granted[at], true
	}
	step := max(increment, -increment)
	if at > 0 && apart(granted[at-1].high, block.low, step) {
		granted[at-1].high = block.high
		return interval{}, false
	}
	if at < len(granted) && apart(block.high, granted[at].low, step) {
		granted[at].low = block.low
		return interval{}, false
	}
	q.granted[period] = slices.Insert(granted, at, block)
	return interval{}, false
}

// apart reports whether high is the next number after low at a step.
func apart(low, high, step int64) bool { return uint64(high)-uint64(low) == uint64(step) } //nolint:gosec // G115: wraps as intended

// giveBack checks that returned numbers are the end of the last block, and removes them from the granted ones.
func (m *sequenceModel) giveBack(e *raftlog.Applied, c *commandv1.ReturnBlock) {
	q := m.byName[c.GetName()]
	claimed := q != nil && q.last.token != 0 && q.last.token == c.GetToken() && bytes.Equal(q.last.keyHash, c.GetReturnKeyHash())
	if !claimed || c.GetUnused() == 0 || c.GetUnused() > q.last.count {
		m.v.fail("index %d accepts the return of %d numbers of sequence %q under token %d, which are not the end of its last block",
			e.Index, c.GetUnused(), c.GetName(), c.GetToken())
		return
	}
	kept := q.last.count - c.GetUnused()
	first := uint64(q.last.first) + kept*uint64(q.last.increment)      //nolint:gosec // G115: wraps as intended
	returned, _ := span(int64(first), c.GetUnused(), q.last.increment) //nolint:gosec // G115: as above
	q.remove(returned, max(q.last.increment, -q.last.increment))
	q.last = lastBlock{}
}

// remove removes numbers from the granted ones of the last block's period. They must be at an end of an interval.
func (q *numbersModel) remove(returned interval, step int64) {
	granted := q.granted[q.last.period]
	for i := range granted {
		g := &granted[i]
		switch {
		case g.low == returned.low && g.high == returned.high:
			q.granted[q.last.period] = slices.Delete(granted, i, i+1)
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
