package fsm

import (
	"bytes"
	"fmt"
	"math"
	"math/big"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// auditSequence is the audit's record of a name, and the ghost of every number: the numbers
// that were granted and not returned since numbers were last allowed to repeat.
type auditSequence struct {
	live       bool
	buried     uint64 // index of the last deletion
	spec       *commandv1.SequenceSpec
	generation uint64
	numbering  uint64
	period     int32
	closed     int32  // periods before this one are closed
	next       *int64 // nil: there is none, or a change has to say which
	forced     bool   // ever
	granted    map[auditNumber]bool
	late       map[auditNumber]bool // those that were granted after their period ended
	code       *commandv1.Code      // the codes of the name; nil if it never had any
	last       auditBlock
	answers    map[answerKey]*auditAnswer

	moved bool
	away  []int64 // numbers that the other system has issued since
}

type auditNumber struct {
	period int32
	number int64
}

// auditBlock is the last block, if it can be returned.
type auditBlock struct {
	token   uint64
	keyHash []byte
	numbers []auditNumber
}

// checkSequences is check for the commands of sequences.
func (a *audit) checkSequences(index, term uint64, cmd *commandv1.Command, config *commandv1.Config, observed int64, r Result) (mine bool, err error) {
	switch body := cmd.GetBody().(type) {
	case *commandv1.Command_CreateSequence:
		if bad, err := a.badCode(body.CreateSequence, r); bad {
			return true, err
		}
		a.keepSecret(body.CreateSequence.GetCodeSecret(), r.Err == nil && r.Sequence.Incarnation == index)
		return true, a.sequences[body.CreateSequence.GetSpec().GetName()].create(index, body.CreateSequence, config, r)
	case *commandv1.Command_UpdateSequence:
		if bad, err := a.badCode(body.UpdateSequence, r); bad {
			return true, err
		}
		a.keepSecret(body.UpdateSequence.GetCodeSecret(), r.Err == nil)
		return true, a.sequences[body.UpdateSequence.GetSpec().GetName()].update(index, body.UpdateSequence, r)
	case *commandv1.Command_DeleteSequence:
		return true, a.sequences[body.DeleteSequence.GetName()].remove(index, body.DeleteSequence, r)
	case *commandv1.Command_AllocateBlock:
		if r.Err == nil && len(body.AllocateBlock.GetRequestId()) > 0 && !r.Block.Repeated {
			a.expire(observed)
		}
		return true, a.sequences[body.AllocateBlock.GetName()].allocate(index, cmd.GetActor().GetToken(), body.AllocateBlock, observed, cmd.GetClockAtMs(), r)
	case *commandv1.Command_ReturnBlock:
		return true, a.sequences[body.ReturnBlock.GetName()].giveBack(term, body.ReturnBlock, r)
	case *commandv1.Command_MoveSequence:
		return true, a.sequences[body.MoveSequence.GetName()].move(index, body.MoveSequence, r)
	case *commandv1.Command_ResumeSequence:
		return true, a.sequences[body.ResumeSequence.GetName()].takeBack(index, body.ResumeSequence, r)
	}
	return false, nil
}

func (q *auditSequence) remove(index uint64, c *commandv1.DeleteSequence, r Result) error {
	want := commandv1.Refusal(0)
	switch {
	case !q.live:
		want = unknownSeq
	case q.moved:
		want = movedAway
	case c.GetGeneration() != 0 && c.GetGeneration() != q.generation:
		want = mismatchedGen
	default:
		q.live, q.buried = false, index
	}
	if reason := reasonOf(r); reason != want {
		return violated("rules", "a deletion of generation %d returned %v, want %v", c.GetGeneration(), reason, want)
	}
	return nil
}

func (q *auditSequence) create(index uint64, c *commandv1.CreateSequence, config *commandv1.Config, r Result) error {
	reason := reasonOf(r)
	if q.live && q.moved && (!c.GetOnDemand() || !c.GetForce() && c.Replaces == nil) {
		return q.refusesMoved(reason)
	}
	spec, want := c.GetSpec(), commandv1.Refusal(0)
	if c.GetOnDemand() {
		spec, want = q.onDemand(c, config)
	}
	if want != 0 || reason == redisCreateOff {
		if reason != want {
			return violated("rules", "%v with the configuration %v returned %v, want %v", c, config, reason, want)
		}
		return nil
	}
	if q.live {
		if same := proto.Equal(q.spec, spec); same != (reason == 0) || !same && reason != sequenceExists || same && r.Sequence.Generation != q.generation {
			return violated("rules", "creating what exists returned %v, %+v", reason, r.Sequence)
		}
		return nil
	}
	// A sequence that granted nothing is not remembered.
	known := len(q.granted) > 0
	if stale := c.Replaces != nil && c.GetReplaces() != q.buried && (known || c.GetReplaces() != 0); stale || reason == mismatchedGen {
		if !stale && (c.Replaces == nil || known) || reason != mismatchedGen {
			return violated("rules", "creating over generation %d of %d returned %v", c.GetReplaces(), q.buried, reason)
		}
		return nil
	}
	otherCode := c.GetSpec().GetCode() != nil && q.code != nil && !proto.Equal(c.GetSpec().GetCode(), q.code)
	if otherCode && reason == invalidArgument {
		return nil
	}
	if reason != 0 {
		if reason != wouldRepeats || c.GetForce() || len(q.granted) == 0 && !q.forced && q.period == 0 {
			return violated("rules", "create: %v", r.Err)
		}
		return nil
	}
	if !c.GetForce() && len(q.granted) > 0 && q.spec.GetReset_() != resetNone && !samePeriods(q.spec, c.GetSpec()) {
		return violated("reset", "%v over a sequence that was granted numbers with %v", c, q.spec)
	}
	if otherCode {
		return violated("code", "created with %v after %v", c, q.code)
	}
	if c.GetForce() {
		q.force()
	}
	if c.GetSpec().GetCode() != nil {
		q.code = c.GetSpec().GetCode()
	}
	if r.Sequence.Period < q.latest() {
		return violated("period", "created in %d, there are numbers of %d", r.Sequence.Period, q.latest())
	}
	q.live, q.answers = true, map[answerKey]*auditAnswer{}
	q.adopt(index, r.Sequence)
	if q.next == nil || *q.next != spec.GetStart() || !proto.Equal(q.spec, spec) {
		return violated("rules", "%+v does not begin at the start of %v", r.Sequence, spec)
	}
	return nil
}

// samePeriods reports whether two specifications have the same periods: years start on one day, where periods start with them.
func samePeriods(a, b *commandv1.SequenceSpec) bool {
	withYears := a.GetReset_() == resetQuarterly || a.GetReset_() == resetYearly
	return a.GetReset_() == b.GetReset_() && (!withYears || a.GetYearStarts() == b.GetYearStarts())
}

func (q *auditSequence) update(index uint64, c *commandv1.UpdateSequence, r Result) error {
	reason := reasonOf(r)
	if q.live && q.moved {
		return q.refusesMoved(reason)
	}
	outside := c.Next != nil && (c.GetNext() < c.GetSpec().GetMin() || c.GetNext() > c.GetSpec().GetMax())
	switch {
	case !q.live && reason == unknownSeq, q.live && c.GetGeneration() != q.generation && reason == mismatchedGen:
		return nil
	case !q.live || c.GetGeneration() != q.generation:
		return violated("rules", "an outdated update returned %v", reason)
	case reason == 0 && !c.GetForce() && !samePeriods(q.spec, c.GetSpec()) && len(q.granted) > 0:
		return violated("reset", "%v after numbers of %v were granted", c, q.spec)
	case c.GetSpec().GetCode() != nil && q.code != nil && !proto.Equal(c.GetSpec().GetCode(), q.code):
		if reason != invalidArgument {
			return violated("code", "%v after codes %v returned %v", c, q.code, reason)
		}
		return nil
	case outside != (reason == invalidArgument), reason != 0 && !outside && (reason != wouldRepeats || c.GetForce()):
		return violated("rules", "update: %v", r.Err)
	case reason != 0:
		return nil
	}
	before := *q
	if c.GetSpec().GetCode() != nil {
		q.code = c.GetSpec().GetCode()
	}
	if c.GetForce() {
		q.force()
	}
	q.adopt(index, r.Sequence)
	if c.Next == nil && onlyDescribes(before.spec, c.GetSpec()) {
		q.numbering, q.last = before.numbering, before.last
	}
	switch {
	case q.period != before.period:
		return violated("period", "an update went from %d to %d", before.period, q.period)
	case !proto.Equal(q.spec, c.GetSpec()):
		return violated("rules", "updated to %v, want %v", q.spec, c.GetSpec())
	case c.Next != nil && (q.next == nil || *q.next != c.GetNext()):
		return violated("rules", "set to %d returned %+v", c.GetNext(), r.Sequence)
	case c.Next == nil && q.next != nil && before.next != nil && before.left().Sign() > 0 && len(before.granted) > 0 && *q.next != *before.next:
		return violated("rules", "an update moved %d to %d", *before.next, *q.next)
	}
	return nil
}

// keepSecret notes the secret of the first accepted change with codes.
func (a *audit) keepSecret(secret []byte, accepted bool) {
	if a.codeSecret == nil && accepted {
		a.codeSecret = secret
	}
}

// badCode reports whether a change of a sequence must be refused for its codes, whatever codes the name has. The error says
// that it was not.
func (a *audit) badCode(c interface {
	GetSpec() *commandv1.SequenceSpec
	GetCodeSecret() []byte
}, r Result,
) (bad bool, err error) {
	if c.GetSpec().GetCode() == nil {
		return false, nil
	}
	most, known := map[string]int64{
		"CODE_ALPHABET_BASE32:4": 1<<20 - 1, "CODE_ALPHABET_DIGITS:6": 999_999, "CODE_ALPHABET_BASE58:20": math.MaxInt64,
	}[fmt.Sprintf("%v:%d", c.GetSpec().GetCode().GetAlphabet(), c.GetSpec().GetCode().GetLength())]
	bad = !known || c.GetSpec().GetMin() < 0 || c.GetSpec().GetMax() > most || a.codeSecret == nil && len(c.GetCodeSecret()) != 32
	if bad && r.Err == nil {
		return true, violated("code", "%v was accepted", c)
	}
	return bad, nil
}

// force lets numbers repeat from now on.
func (q *auditSequence) force() {
	q.forced, q.closed, q.granted, q.late = true, 0, map[auditNumber]bool{}, map[auditNumber]bool{}
}

// adopt applies an accepted change.
func (q *auditSequence) adopt(index uint64, now Sequence) {
	q.spec, q.generation, q.numbering, q.period, q.last, q.next = now.Spec, index, index, now.Period, auditBlock{}, nil
	if now.Remaining > 0 {
		q.next = &now.Next
	}
}

// latest is the latest period that a number was granted in.
func (q *auditSequence) latest() (period int32) {
	for n := range q.granted {
		period = max(period, n.period)
	}
	return period
}

// left returns the number of numbers from next on.
func (q *auditSequence) left() *big.Int {
	if q.next == nil {
		return big.NewInt(0)
	}
	return bigCapacity(*q.next, q.spec.GetIncrement(), q.spec.GetMin(), q.spec.GetMax())
}

func (q *auditSequence) allocate(index, owner uint64, c *commandv1.AllocateBlock, observed, now int64, r Result) error {
	reason, b := reasonOf(r), r.Block
	if !q.live {
		if reason != unknownSeq {
			return violated("rules", "a block of nothing: %v, %+v", reason, b)
		}
		return nil
	}
	if len(c.GetRequestId()) > 0 && len(c.GetReturnKeyHash()) > 0 {
		if reason != invalidArgument {
			return violated("rules", "a block that is answered again, and can be returned: %v, %+v", reason, b)
		}
		return nil
	}
	if done, err := q.repeat(index, owner, c, observed, r); done {
		return err
	}
	if q.moved {
		return q.refusesMoved(reason)
	}
	if c.GetGeneration() < q.numbering || c.GetGeneration() > q.generation {
		if reason != mismatchedGen {
			return violated("rules", "an outdated allocation returned %v, %+v", reason, b)
		}
		return nil
	}
	p := *q
	if c.GetPeriod() > p.period {
		p.period, p.next = c.GetPeriod(), new(p.spec.GetStart())
	}
	if only := c.GetOnlyPeriod(); only != 0 && (only != p.period || c.From != nil || len(c.GetReturnKeyHash()) > 0) {
		return q.allocateLate(index, owner, c, max(observed, now), r)
	}
	count := new(big.Int).SetUint64(c.GetCount())
	if left := p.left(); left.Cmp(count) < 0 {
		if left.Sign() == 0 || c.GetWhole() {
			if reason != exhaustedReas {
				return violated("rules", "%v with %v left returned %v, %+v", c, left, reason, b)
			}
			return nil
		}
		count = left
	}
	want := BlockGrant{
		Token: index, First: *p.next, Count: count.Uint64(), Increment: p.spec.GetIncrement(),
		Generation: q.numbering, Period: p.period, AtMillis: max(observed, now),
	}
	if reason == 0 && b.Period < q.period {
		return violated("period", "%+v, after %d", b, q.period)
	}
	p.last = auditBlock{token: index, keyHash: c.GetReturnKeyHash()}
	n := big.NewInt(b.First)
	for range b.Count {
		number := auditNumber{b.Period, n.Int64()}
		if !n.IsInt64() || q.granted[number] {
			return violated("number", "%v of %+v was granted before, or is none", n, b)
		}
		q.granted[number] = true
		p.last.numbers = append(p.last.numbers, number)
		n.Add(n, big.NewInt(b.Increment))
	}
	if reason != 0 || b != want {
		return violated("rules", "%v returned %+v, %v, want %+v", c, b, r.Err, want)
	}
	if p.next = nil; n.IsInt64() {
		p.next = new(n.Int64())
	}
	if id := string(c.GetRequestId()); id != "" {
		p.answers[answerKey{owner, 0, id}] = &auditAnswer{BlockGrant: b}
	}
	if len(c.GetReturnKeyHash()) == 0 {
		p.last = auditBlock{}
	}
	*q = p
	return nil
}

// allocateLate checks the numbers of an earlier period. They are beyond all that were granted in it.
func (q *auditSequence) allocateLate(index, owner uint64, c *commandv1.AllocateBlock, at int64, r Result) error {
	reason, b := reasonOf(r), r.Block
	present := max(q.period, c.GetPeriod())
	switch {
	case reason == invalidArgument && (c.From != nil || c.GetOnlyPeriod() >= present || q.spec.GetReset_() == resetNone),
		reason == periodClosed && c.GetOnlyPeriod() < present, reason == periodUnknown && c.From == nil, reason == exhaustedReas:
		return nil
	case reason != 0 || b.Period != c.GetOnlyPeriod() || b.Period >= present || b.Token != index || b.AtMillis != at ||
		b.Count != c.GetCount() && (c.GetWhole() || b.Count > c.GetCount()) || q.spec.GetLateMs() == 0:
		return violated("rules", "%v in %d returned %+v, %v", c, present, b, r.Err)
	case b.Period < c.GetOpenFrom(), b.Period < q.closed:
		return violated("late", "%+v after the period closed: %v", b, c)
	}
	if q.period < present {
		q.period, q.next, q.last = present, new(q.spec.GetStart()), auditBlock{}
	}
	for n := range q.granted {
		if n.period == b.Period && (n.number >= b.First) == (b.Increment > 0) && !q.forced {
			return violated("number", "%+v does not follow %d, which was granted in its period", b, n.number)
		}
	}
	for i := range b.Count {
		n := auditNumber{b.Period, numberAt(b.First, i, b.Increment)}
		if q.granted[n] {
			return violated("number", "%v of %+v was granted before", n, b)
		}
		q.granted[n], q.late[n] = true, true
	}
	q.closed = max(q.closed, c.GetOpenFrom())
	if id := string(c.GetRequestId()); id != "" {
		q.answers[answerKey{owner, 0, id}] = &auditAnswer{BlockGrant: b}
	}
	return nil
}

func (q *auditSequence) giveBack(term uint64, c *commandv1.ReturnBlock, r Result) error {
	reason := reasonOf(r)
	if !q.live {
		if reason != unknownSeq {
			return violated("rules", "a return to nothing returned %v", reason)
		}
		return nil
	}
	size := uint64(len(q.last.numbers))
	claim := c.GetToken() == q.last.token && size > 0 && c.GetUnused() > 0 && c.GetUnused() <= size &&
		(c.GetTerm() == 0 || c.GetTerm() == term) && bytes.Equal(c.GetReturnKeyHash(), q.last.keyHash)
	switch {
	case reason == 0 && !claim:
		return violated("owner", "%v was taken, the last block is %+v", c, q.last)
	case reason != 0 && (reason != notLast || claim && q.mustTake()):
		return violated("rules", "%v: %v", c, r.Err)
	case reason != 0:
		return nil
	}
	unused := q.last.numbers[size-c.GetUnused():]
	for _, n := range unused {
		delete(q.granted, n)
	}
	q.next, q.last = &unused[0].number, auditBlock{}
	return nil
}

// mustTake reports whether the last block has to be returnable: nothing that was
// granted under the name, whenever, lies ahead of its beginning.
func (q *auditSequence) mustTake() bool {
	first, own := q.last.numbers[0], map[auditNumber]bool{}
	for _, n := range q.last.numbers {
		own[n] = true
	}
	for n := range q.granted {
		if !own[n] && (n.number >= first.number) == (q.spec.GetIncrement() > 0) {
			return false
		}
	}
	return !q.forced
}

// checkHull checks that all numbers that were granted in the period are remembered.
func (q *auditSequence) checkHull(s *State, name string) error {
	record, ok := s.sequences.live.Get(name)
	if !ok {
		record, ok = s.sequences.deleted.Get(name)
	}
	for n := range q.granted {
		end, known := ended{}, false
		if ok {
			end, known = record.late.value().find(n.period)
		}
		if !ok || n.period == record.period && !record.used.holds(n.number) || !record.used.some || known && !end.used.holds(n.number) {
			return violated("hull", "%+v of %q was granted and is not in %+v", n, name, record)
		}
	}
	return nil
}

// compareSequences compares a replica's sequences with the audit's.
func (a *audit) compareSequences(s *State) error {
	live := 0
	if got, ok := s.CodeSecret(); ok != (a.codeSecret != nil) || ok && !bytes.Equal(got[:], a.codeSecret) {
		return violated("code", "another secret than %q, which was the first: %v", a.codeSecret, ok)
	}
	for name, q := range a.sequences {
		if err := q.checkHull(s, name); err != nil {
			return err
		}
		got, ok := s.Sequence(name)
		if ok != q.live {
			return violated("sequence", "%q is there: %v, want %v", name, ok, q.live)
		}
		if !ok {
			continue
		}
		live++
		// Of all 2^64 numbers one is never granted.
		missing := q.left()
		missing.Sub(missing, new(big.Int).SetUint64(got.Remaining))
		all := missing.Cmp(big.NewInt(1)) == 0 && q.left().BitLen() > 63
		if got.Generation != q.generation || got.Numbering != q.numbering || got.Period != q.period || missing.Sign() != 0 && !all ||
			got.Remaining > 0 && got.Next != *q.next {
			return violated("sequence", "%+v, want %+v", got, q)
		}
	}
	if s.SequenceCount() != live {
		return violated("sequence", "%d of them, want %d", s.SequenceCount(), live)
	}
	return nil
}
