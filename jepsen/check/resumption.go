package check

import (
	"fmt"
	"math"

	"github.com/snowraft/snowraft/jepsen/history"
)

// resumption is the time at which something answers again after the last fault.
type resumption struct {
	from         int64 // the last fault, or the start of the process that is running at the end
	asked        bool
	answered     int64 // when an operation that began since was answered first; MaxInt64 for never
	lastFailure  string
	everAnswered bool // in the whole run
	everAsked    bool
}

func newResumption(from int64) *resumption { return &resumption{from: from, answered: math.MaxInt64} }

func (r *resumption) ask(op history.Op) {
	r.everAsked = true
	r.everAnswered = r.everAnswered || op.Outcome == history.OK
	if op.Call < r.from {
		return
	}
	if op.Outcome == history.OK {
		r.answer(op.Call, op.Return)
	} else if op.Call < r.from+recovery {
		r.asked, r.lastFailure = true, fmt.Sprintf("%s %s", op.Reason, op.Error)
	}
}

func (r *resumption) answer(call, ret int64) {
	r.everAsked = true
	if call >= r.from {
		r.asked = r.asked || call < r.from+recovery
		r.answered = min(r.answered, ret)
	}
}
