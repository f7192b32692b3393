package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// auditAnswer is the answer to a request with an ID.
type auditAnswer struct {
	BlockGrant
	// expired reports that another answer was added while this one was expired. The state may have forgotten it.
	expired bool
}

// expire notes which answers have expired.
func (a *audit) expire(observed int64) {
	for _, q := range a.sequences {
		for _, was := range q.answers {
			was.expired = was.expired || observed-was.AtMillis > answerMillis
		}
	}
}

// repeat checks the result of a request whose ID has an answer. It reports whether the state repeated it, or had to.
func (q *auditSequence) repeat(index, owner uint64, c *commandv1.AllocateBlock, observed int64, r Result) (done bool, err error) {
	was, ok := q.answers[answerKey{owner, 0, string(c.GetRequestId())}]
	reason, b := reasonOf(r), r.Block
	if !ok || observed-was.AtMillis > answerMillis || was.expired && !b.Repeated && reason != idReused {
		return false, nil
	}
	want := was.BlockGrant
	want.Repeated, want.Token = true, index
	// The block may have been short, and the bounds been moved since.
	if reason == idReused && (want.Count != c.GetCount() || c.GetOnlyPeriod() != 0 && c.GetOnlyPeriod() != want.Period) || reason == 0 && b == want && want.Count <= c.GetCount() {
		return true, nil
	}
	return true, violated("answer", "%v returned %v, %+v, want %+v", c, reason, b, want)
}
