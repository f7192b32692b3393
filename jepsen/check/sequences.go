package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/snowraft/snowraft/internal/test/lincheck"
	"github.com/snowraft/snowraft/jepsen/history"
)

// orderNumbers checks the order of the numbers of all sequences.
func (r *Run) orderNumbers(v *Verdict, budget int) error {
	modes, err := r.modes()
	if err != nil {
		return err
	}
	strict := make(map[string]*strictCalls)
	type member struct {
		key   string
		start uint32
		down  bool
	}
	groups := make(map[member]uint64)
	var names []member
	err = sorting(r.Dir, budget, func(s *sorter) error {
		for op, err := range r.Ops() {
			if err != nil {
				return err
			}
			if isStrict(modes, op) {
				if strict[op.Key] == nil {
					strict[op.Key] = &strictCalls{run: r, requests: make(map[string]int)}
				}
				strict[op.Key].add(op)
				continue
			}
			if !hands(op) || op.Start == 0 || op.RequestID != "" {
				continue
			}
			i, err := numbersOf(op)
			if err != nil {
				continue // Uniqueness reports it
			}
			g := member{key: op.Key, start: op.Start, down: op.Increment < 0}
			index, ok := groups[g]
			if !ok {
				index = uint64(len(names))
				groups[g], names = index, append(names, g)
			}
			if g.down {
				i.First = ^i.Last() // mirrored, to ascend
			}
			v.Facts["relaxed_calls"]++
			if err := s.add(entry{hi: index, lo: uint64(i.Call) ^ sign, Issued: i}); err != nil { //nolint:gosec // G115: keeps the bits
				return err
			}
		}
		return ascending(s, func(before, e entry) {
			g := names[e.hi]
			first, last := e.First, before.Last()
			if g.down {
				first, last = ^first, ^last
			}
			v.fail("numbers of sequence %q from %s are out of order: %d (operation %d of client %d) was requested at %s, "+
				"after %d (operation %d of client %d) was returned at %s",
				g.key, r.process(g.start), int64(first^sign), e.Op, e.Client, r.clock(e.Call), //nolint:gosec // G115: keeps the bits
				int64(last^sign), before.Op, before.Client, r.clock(before.Return)) //nolint:gosec // G115: keeps the bits
		})
	})
	if err != nil {
		return err
	}
	keys := slices.SortedFunc(maps.Keys(strict), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(strict[b].calls), len(strict[a].calls)), cmp.Compare(a, b))
	})
	for n, key := range keys {
		if err := r.judgeStrict(v, key, strict[key].all(), n < pictures); err != nil {
			return err
		}
	}
	if v.Facts["slices_undecided"] > 0 && v.Facts["slices"] == 0 {
		v.invalid("porcupine judged none of %d slices of strict sequences in time", v.Facts["slices_undecided"])
	}
	return nil
}

// pictures is the number of sequences whose visualization is kept: those with the most calls. The visualization of a
// failure is always kept.
const pictures = 5

// modes returns the modes of the sequences that the history has. A sequence is strict only if it was never relaxed.
func (r *Run) modes() (map[string]string, error) {
	modes := make(map[string]string)
	for line, err := range history.Lines(r.Dir) {
		if err != nil {
			return nil, err
		}
		if s := line.Sequence; s != nil && modes[s.Name] != history.ModeRelaxed {
			modes[s.Name] = s.Mode
		}
	}
	return modes, nil
}

// isStrict reports whether an operation concerns a strict sequence. Without a mode of the sequence in the history, the
// workload decides: "strict" and "redis" have strict sequences only.
func isStrict(modes map[string]string, op history.Op) bool {
	switch op.Do {
	case history.DoNext, history.DoIncr, history.DoRead:
	default:
		return false
	}
	if mode, ok := modes[op.Key]; ok {
		return mode == history.ModeStrict
	}
	return op.Workload == "strict" || op.Workload == "redis"
}

// strictCalls are the calls to a strict sequence.
type strictCalls struct {
	run      *Run
	calls    []lincheck.Call
	answered []bool         // indexed by call; a repeated request may answer a call later
	requests map[string]int // latest call by request ID; after a restore, a request may have several
	down     bool           // the sequence counts down
}

// add adds an operation. A request repeated under its ID is one call, from its first attempt to its first answer.
func (s *strictCalls) add(op history.Op) {
	if op.Outcome == history.Fail || op.Outcome == history.Info && op.RequestID == "" {
		return
	}
	if op.Do == history.DoRead && op.First == 0 && s.run.faulty(familyRestore, op.Call, op.Return) {
		return // no last number before the sequence is created or resumed again
	}
	c := lincheck.Call{
		By:    fmt.Sprintf("operation %d of client %d, start %d", op.ID, op.Client, op.Start),
		Began: s.run.instant(op.Call), Ended: s.run.instant(op.Return), First: op.First, Last: op.First,
		Read: op.Do == history.DoRead,
	}
	if !c.Read && op.Outcome == history.OK {
		if _, err := numbersOf(op); err != nil {
			return // Uniqueness reports it
		}
		c.Last += int64(max(op.Count, 1)-1) * cmp.Or(op.Increment, 1)
		s.down = s.down || op.Increment < 0
	}
	if op.RequestID != "" {
		if at, ok := s.requests[op.RequestID]; ok && !s.forgotten(at, c, op) {
			s.repeat(at, c, op.Outcome == history.OK)
			return
		}
		s.requests[op.RequestID] = len(s.calls)
	}
	s.calls = append(s.calls, c)
	s.answered = append(s.answered, op.Outcome == history.OK)
}

// forgotten reports whether an operation is a new call, because a restored cluster had lost the answer to the earlier
// request with the same ID.
func (s *strictCalls) forgotten(at int, c lincheck.Call, op history.Op) bool {
	was := s.calls[at]
	return op.Outcome == history.OK && s.answered[at] && (c.First != was.First || c.Last != was.Last) &&
		s.run.restored(s.run.moment(was.Began), op.Return)
}

// repeat merges a repetition of a request into the request's call.
func (s *strictCalls) repeat(at int, c lincheck.Call, answered bool) {
	began, ended := s.calls[at].Began, s.calls[at].Ended
	if c.Began.Before(began) {
		began = c.Began
	}
	switch {
	case !answered:
	case !s.answered[at]:
		s.calls[at], s.answered[at] = c, true
	case c.Ended.Before(ended):
		s.calls[at].Ended = c.Ended
	}
	s.calls[at].Began = began
}

// all returns the answered calls, sorted by the time of the call. It negates numbers that descend.
func (s *strictCalls) all() []lincheck.Call {
	calls := make([]lincheck.Call, 0, len(s.calls))
	for i, c := range s.calls {
		if !s.answered[i] {
			continue
		}
		switch {
		case s.down && c.Read:
			c.Last = -c.Last
		case s.down:
			c.First, c.Last = -c.First, -c.Last
		}
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b lincheck.Call) int { return a.Began.Compare(b.Began) })
	return calls
}

// moment is the inverse of instant.
func (r *Run) moment(instant time.Time) int64 { return instant.UnixNano() + r.Header.At }

// instant returns a moment as the time since the run's header, which internal/test/lincheck prints.
func (r *Run) instant(at int64) time.Time { return time.Unix(0, at-r.Header.At).UTC() }
