package check

import (
	"fmt"
	"math"

	"github.com/snowraft/snowraft/jepsen/history"
)

// resumption records the answers of a member or service after the last fault.
type resumption struct {
	from         int64  // last fault, or start of the process that runs at the end
	asked        bool   // a request within recovery after from
	answered     int64  // first answer to a request made after from; MaxInt64 for none
	lastFailure  string // reason and error of the last failed request within recovery
	everAnswered bool   // an answered operation in the whole run
	everAsked    bool   // a request in the whole run
}

func newResumption(from int64) *resumption { return &resumption{from: from, answered: math.MaxInt64} }

// ask adds an operation.
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

// answer adds an answer by the moments of its call and return.
func (r *resumption) answer(call, ret int64) {
	r.everAsked = true
	if call >= r.from {
		r.asked = r.asked || call < r.from+recovery
		r.answered = min(r.answered, ret)
	}
}
