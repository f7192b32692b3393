package console

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// sequenceOf returns a row, at a time in Unix ms.
func sequenceOf(v *snowraftv1.SequenceView, now int64) sequenceRow {
	s := v.GetSequence()
	row := sequenceRow{
		Unit: "numbers", SequenceView: v, Name: s.GetName(), Link: link(sequencePath, map[string]string{"name": s.GetName()}),
		Bounded: v.RemainingRatio != nil, Width: 100 * v.GetRemainingRatio(), Mode: titled(apijson.Word(s.GetMode())), Reset: "Never",
	}
	if s.GetReset_() > snowraftv1.SequenceReset_SEQUENCE_RESET_NONE {
		row.Reset, row.ResetAt = titled(apijson.Word(s.GetReset_())), v.GetPeriodEndsAtMs()
		if s.GetYearStarts() != "" {
			row.Reset += ", years start " + s.GetYearStarts()
		}
	}
	if last := cmp.Or(s.Last, s.LastAtMost); last != nil {
		row.Last, row.AtMost = strconv.FormatInt(*last, 10), s.Last == nil
	}
	if row.Bounded {
		row.Left, row.Of = percent(v.GetRemainingRatio()), capacity(s)
	}
	if strings.Contains(s.GetFormat(), "{code:") {
		row.Unit = "codes"
	}
	if per := v.GetGrantedPerSecond(); per > 0 && row.Bounded && !v.GetPeriodOver() {
		row.EndsIn = span(int64(min(float64(s.GetRemaining())/per, 1e9) * 1000))
	}
	if at := s.GetOldestOpenAtMs(); at > 0 {
		row.OldestMs, row.Oldest = at, span(now-at)+" ago"
	}
	row.setState(s, now)
	return row
}

// capacity returns the count of the numbers of a period, or of the codes of a sequence with codes.
func capacity(s *snowraftv1.Sequence) string {
	from, to, step := s.GetStart(), s.GetMax(), uint64(s.GetIncrement()) //nolint:gosec // not negative here
	if s.GetIncrement() < 0 {
		from, to, step = s.GetMin(), s.GetStart(), -step
	}
	last := (uint64(to) - uint64(from)) / max(step, 1) //nolint:gosec // not negative, because from <= to
	if last == math.MaxUint64 {
		return ""
	}
	return strconv.FormatUint(last+1, 10)
}

// endsEarly reports whether the minimum or the maximum ends a sequence before the 64-bit numbers do.
func endsEarly(s *snowraftv1.Sequence) bool {
	if s.GetIncrement() < 0 {
		return s.GetMin() > math.MinInt64
	}
	return s.GetMax() < math.MaxInt64
}

// setState sets the state of a sequence, the facts below it, and the commands that change it.
func (r *sequenceRow) setState(s *snowraftv1.Sequence, now int64) {
	name := argument(s.GetName())
	show := command{Label: "Change", Text: "snowraft seq update " + name + ` --description "..."`}
	if r.Bounded {
		end := " --max "
		if s.GetIncrement() < 0 {
			end = " --min "
		}
		show.Text = "snowraft seq update " + name + end + "N"
	}
	closed := 0
	for _, e := range s.GetEndedPeriods() {
		if e.GetFrozen() {
			closed++
		}
	}
	switch {
	case s.GetFrozen():
		r.State = level{"bad", "Frozen by a restore"}
		show = command{Label: "Resume", Text: "snowraft seq resume " + name + " --after N --holders-stopped"}
	case s.GetMoved():
		r.State = level{"warn", "Moved to another system"}
		show = command{Label: "Move back", Text: "snowraft seq resume " + name + " --after N --holders-stopped"}
	case s.GetUnknownNumbers() > 0:
		r.State = level{"warn", "Numbers unknown since a restore"}
		show = command{Label: "Resolve", Text: "snowraft seq audit " + name}
	case r.GetPeriodOver():
		r.State = level{"good", "New period begins with the next number"}
	case s.GetRemaining() == 0:
		r.State = level{"bad", "No numbers left"}
		if r.AtMost {
			r.State.Word = "All numbers are in blocks"
		}
	case r.OldestMs > 0 && now-r.OldestMs >= openLong.Milliseconds():
		r.State = level{"warn", "Number open for over an hour"}
		show = command{Label: "Show open numbers", Text: "snowraft seq open " + name}
	case r.Bounded && r.GetRemainingRatio() < nearlyUsed:
		r.State = level{"warn", "Few numbers left"}
	case closed > 0:
		r.State = level{"warn", "Earlier periods closed by a restore"}
		show = command{Label: "Resume", Text: "snowraft seq resume " + name + " --period PERIOD --after N"}
	default:
		r.State = level{"good", "Numbers left"}
	}
	if n := s.GetUnknownNumbers(); n > 0 {
		r.Notes = append(r.Notes, grouped(strconv.FormatUint(n, 10))+" unknown")
	}
	if n := len(s.GetEndedPeriods()); n > 0 {
		note := fmt.Sprintf("%d ended %s known", n, plural(n, "period"))
		if closed > 0 {
			note += fmt.Sprintf(", %d closed", closed)
		}
		r.Notes = append(r.Notes, note)
	}
	r.Commands = []command{show, {Label: "Show", Text: "snowraft seq get " + name}}
}
