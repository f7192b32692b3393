package migrate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The actions of an export.
const (
	move    = "move"
	moved   = "moved" // before
	refused = "refused"
)

// departure is a sequence that moves to a counter of another system. Its fields are those of the JSON, where numbers are strings.
type departure struct {
	Sequence   string `json:"sequence"`
	Next       string `json:"next"` // the first number of the other system; of a plan, the first one at the moment
	Counter    string `json:"counter"`
	Action     string `json:"action"`
	Note       string `json:"note"`
	Statements string `json:"statements"` // empty in a plan

	relaxed               bool
	next, increment, most int64
	generation            uint64
}

// depart returns what an export would do with a sequence.
func depart(s *snowraftv1.Sequence, mappings []mapping) *departure {
	d := &departure{
		Sequence: s.GetName(), Action: move, relaxed: s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED,
		increment: s.GetIncrement(), most: s.GetMax(), generation: s.GetGeneration(),
	}
	d.setNext(s)
	var err error
	d.Counter, err = counterOf(mappings, d.Sequence)
	var notes []string
	switch {
	case err != nil:
	case s.GetFrozen():
		err = fmt.Errorf("frozen by a restore; resume it first")
	case s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS:
		err = fmt.Errorf("gapless: the other system would not account for each number")
	case s.GetReset_() > snowraftv1.SequenceReset_SEQUENCE_RESET_NONE:
		err = fmt.Errorf("begins again in each period, which the other system does not")
	case s.Next == nil:
		err = fmt.Errorf("no number is left")
	case s.GetMoved():
		d.Action = moved
	}
	if s.GetFormat() != "" {
		notes = append(notes, "numbers only: the other system does not write the format")
	}
	if d.increment != 1 {
		notes = append(notes, fmt.Sprintf("counts by %d here", d.increment))
	}
	d.Note = strings.Join(notes, "; ")
	d.refuse(err)
	return d
}

// refuse notes the reason for which the sequence cannot move, if there is one.
func (d *departure) refuse(err error) {
	if err != nil {
		d.Action, d.Note = refused, err.Error()
	}
}

func (d *departure) setNext(s *snowraftv1.Sequence) {
	if d.next = s.GetNext(); s.Next != nil {
		d.Next = strconv.FormatInt(d.next, 10)
	}
}

// last returns the number before the first one of the other system.
func (d *departure) last() int64 { return d.next - d.increment }

// checkLast fails if last overflows.
func (d *departure) checkLast() error {
	if d.increment > 0 && d.next < math.MinInt64+d.increment || d.increment < 0 && d.next > math.MaxInt64+d.increment {
		return fmt.Errorf("begins at %d, the first 64-bit number, so no number is before it", d.next)
	}
	return nil
}

// checkUp fails if the sequence counts downward, or begins below least.
func (d *departure) checkUp(least int64) error {
	switch {
	case d.increment < 0:
		return fmt.Errorf("counts downward, which the other system does not")
	case d.next < least:
		return fmt.Errorf("begins at %d, and the counters of the other system begin at %d", d.next, least)
	}
	return nil
}
