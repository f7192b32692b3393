package fsm

import (
	"fmt"

	"github.com/snowraft/snowraft/internal/limits"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// maxBlock is the greatest number of numbers that one AllocateBlock grants.
const maxBlock = 1 << 63

// BlockGrant is a block of a sequence: the numbers First, First + Increment, ...,
// Count of them.
type BlockGrant struct {
	// Token is the log index of the command; ReturnBlock names the block by it. A block that answers a request with an
	// ID, or that was granted without a return key, cannot be returned.
	Token      uint64
	First      int64
	Count      uint64 // at least 1
	Increment  int64
	Generation uint64 // numbering of the sequence when the block was granted; see Sequence
	Period     int32  // see Sequence; never earlier than the period of an earlier block, unless the request named the period
	AtMillis   int64  // time of the grant: the later of the proposer's clock and the observed clock; Unix ms
	Repeated   bool   // the block of an earlier request with the same ID
}

// allocateBlock grants the next numbers of a sequence, fewer than requested if fewer
// remain, unless the request is for a whole block. A period after the sequence's
// begins with the block. An earlier period is taken for the sequence's, unless the
// request is for that period only.
func (s *State) allocateBlock(e entry) Result {
	c := e.cmd.GetAllocateBlock()
	old, refused := s.sequences.named(c.GetName())
	if refused != nil {
		return Result{Err: refused}
	}
	if refused := old.notByNext(); refused != nil {
		return Result{Err: refused}
	}
	if refused := checkAllocate(c); refused != nil {
		return Result{Err: refused}
	}
	requested, key := len(c.GetRequestId()) > 0, answerKey{}
	if requested {
		owner, refused := askerOf(e.cmd.GetActor())
		if refused != nil {
			return Result{Err: refused}
		}
		key = answerKey{owner, old.incarnation, string(c.GetRequestId())}
		if a, ok := s.answers.find(key, s.observed); ok {
			return old.repeat(e.index, c, a.block)
		}
	}
	if refused := old.thawed(); refused != nil {
		return Result{Err: refused}
	}
	if g := c.GetGeneration(); g < old.numbering || g > old.generation {
		return Result{Err: old.checkGeneration(g)}
	}
	if err := old.spec.checkPeriod(c.GetPeriod()); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	q := *old
	if c.GetPeriod() > q.period {
		q.roll(c.GetPeriod(), s.sequences.endable())
	}
	counter, refused := &q, (*Refused)(nil)
	if only := c.GetOnlyPeriod(); q.period != old.period || only != 0 {
		q.closeBefore(c.GetOpenFrom())
		if counter, refused = s.counterOf(&q, only, c.From); refused != nil {
			return Result{Err: refused}
		}
	}
	count := min(c.GetCount(), counter.remaining())
	if count == 0 || c.GetWhole() && count < c.GetCount() {
		return Result{Err: counter.view().Exhausted(counter.remaining())}
	}
	first, _ := counter.next()
	if requested {
		if refused := s.answers.room(key.owner, s.observed); refused != nil {
			return Result{Err: refused}
		}
	}
	token := uint64(0)
	keyHash, returnable := hashOf(c.GetReturnKeyHash())
	if returnable {
		token = e.index
	}
	counter.grant(count, token, keyHash)
	if counter != &q {
		q.setEnded(counter)
	}
	// The observed clock stands still while no member leads. An answer from before the clock moves again must not
	// age by that whole time at once.
	at := max(s.observed, e.now)
	grant := BlockGrant{
		First: first, Count: count, Increment: q.spec.increment, Generation: q.numbering, Period: counter.period, AtMillis: at,
	}
	if requested {
		s.answers.add(answer{key, q.name, grant}, s.observed)
	}
	grant.Token = e.index
	s.sequences.put(&q)
	if q.period != old.period {
		s.sequenceRevision++
	}
	return Result{Block: grant}
}

// Exhausted refuses a request for more numbers than are left.
func (s Sequence) Exhausted(left uint64) *Refused {
	end, raise := fmt.Sprintf("maximum %d", s.Spec.GetMax()), "raise the maximum"
	if s.Spec.GetIncrement() < 0 {
		end, raise = fmt.Sprintf("minimum %d", s.Spec.GetMin()), "lower the minimum"
	}
	if s.spent && s.Spec.GetMode() != commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS {
		raise = "set its next number"
	}
	if compact(s.Spec).resets() {
		raise += ", wait for the next period"
	}
	are := "numbers are"
	if left == 1 {
		are = "number is"
	}
	return refuse(commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED, "sequence %q: %d %s left before its %s; %s, or use another sequence",
		s.Spec.GetName(), left, are, end, raise)
}

func checkAllocate(c *commandv1.AllocateBlock) *Refused {
	switch n := len(c.GetRequestId()); {
	case c.GetCount() == 0 || c.GetCount() > maxBlock:
		return invalid("block of %d numbers: expected 1 to %d", c.GetCount(), uint64(maxBlock))
	case n > limits.RequestIDBytes:
		return invalid("request ID of %d bytes: expected at most %d bytes", n, limits.RequestIDBytes)
	case n > 0 && len(c.GetReturnKeyHash()) > 0:
		return invalid("return_key: cannot be combined with a request ID")
	case c.GetOnlyPeriod() != 0 && len(c.GetReturnKeyHash()) > 0:
		return invalid("return_key: cannot be combined with a period")
	case c.GetOnlyPeriod() == 0 && c.From != nil:
		return invalid("from: cannot be given without a period")
	case c.GetOpenFrom() != 0 && checkDate(c.GetOpenFrom()) != nil:
		return invalid("%v", checkDate(c.GetOpenFrom()))
	case len(c.GetReturnKeyHash()) > 0 && len(c.GetReturnKeyHash()) != hashBytes:
		return invalid("return key hash of %d bytes: expected %d bytes", len(c.GetReturnKeyHash()), hashBytes)
	}
	return nil
}

// repeat answers a request with the block that answered it before. That block may have
// fewer numbers than the request only if no more were left.
func (q *sequence) repeat(index uint64, c *commandv1.AllocateBlock, got BlockGrant) Result {
	short := !c.GetWhole() && got.Count == capacity(got.First, got.Increment, q.spec.min, q.spec.max)
	if got.Count > c.GetCount() || got.Count < c.GetCount() && !short {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_REQUEST_ID_REUSED,
			"request ID belongs to a request that got %d numbers, not %d; use a new ID for each request",
			got.Count, c.GetCount())}
	}
	if only := c.GetOnlyPeriod(); only != 0 && got.Period != only {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_REQUEST_ID_REUSED,
			"request ID belongs to a request that got numbers of the period %s, not %s; use a new ID for each request", day(got.Period), day(only))}
	}
	got.Token, got.Repeated = index, true
	return Result{Block: got}
}

// returnBlock takes back the unused end of the block that was granted last, from the process that has the block's key.
// A return with a term has an effect in that leader term only, because a later leader has reported the whole block as
// issued.
func (s *State) returnBlock(e entry) Result {
	c := e.cmd.GetReturnBlock()
	old, refused := s.sequences.named(c.GetName())
	if refused != nil {
		return Result{Err: refused}
	}
	last := old.isLast(c)
	if term := c.GetTerm(); term != 0 && term != e.term {
		last = false
	}
	if size := old.granted - old.lastFrom; !last || c.GetUnused() == 0 || c.GetUnused() > size {
		return Result{Err: old.notLast(c)}
	}
	q := *old
	q.giveBack(c.GetUnused())
	s.sequences.put(&q)
	return Result{}
}

// isLast reports whether a process returns the last block, with its key.
func (q *sequence) isLast(c *commandv1.ReturnBlock) bool {
	keyHash, ok := hashOf(c.GetReturnKeyHash())
	return ok && q.lastToken != 0 && c.GetToken() == q.lastToken && keyHash == q.lastKeyHash
}

func (q *sequence) notLast(c *commandv1.ReturnBlock) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_NOT_LAST_BLOCK,
		"%d numbers under fencing token %d are not the end of the last block of sequence %q; leave them unused",
		c.GetUnused(), c.GetToken(), q.name)
}
