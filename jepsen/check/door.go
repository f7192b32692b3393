package check

import (
	"fmt"
	"math"

	"github.com/snowraft/snowraft/jepsen/history"
)

// door is something that has to answer again.
type door struct {
	from         int64 // the last fault, or the start of the process that is running at the end
	asked        bool
	answered     int64 // when an operation that began since was answered first; MaxInt64 for never
	lastFailure  string
	everAnswered bool // in the whole run
	everAsked    bool
}

func newDoor(from int64) *door { return &door{from: from, answered: math.MaxInt64} }

func (d *door) ask(op history.Op) {
	d.everAsked = true
	d.everAnswered = d.everAnswered || op.Outcome == history.OK
	if op.Call < d.from {
		return
	}
	if op.Outcome == history.OK {
		d.answer(op.Call, op.Return)
	} else if op.Call < d.from+recovery {
		d.asked, d.lastFailure = true, fmt.Sprintf("%s %s", op.Reason, op.Error)
	}
}

func (d *door) answer(call, ret int64) {
	d.everAsked = true
	if call >= d.from {
		d.asked = d.asked || call < d.from+recovery
		d.answered = min(d.answered, ret)
	}
}
