package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/snowraft/snowraft/internal/lincheck"
	"github.com/snowraft/snowraft/jepsen/history"
)

// orderNumbers looks at the numbers of all sequences.
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
				continue // uniqueness tells it
			}
			g := member{key: op.Key, start: op.Start, down: op.Increment < 0}
			index, ok := groups[g]
			if !ok {
				index = uint64(len(names))
				groups[g], names = index, append(names, g)
			}
			if g.down {
				i.First = ^i.Last() // so that it ascends
			}
			v.Facts["relaxed_calls"]++
			if err := s.add(entry{hi: index, lo: uint64(i.Call) ^ sign, Issued: i}); err != nil { //nolint:gosec // G115: both ways alike
				return err
			}
		}
		return ascending(s, func(before, e entry) {
			g := names[e.hi]
			first, last := e.First, before.Last()
			if g.down {
				first, last = ^first, ^last
			}
			v.fail("numbers of sequence %q from %s are out of order: %d, of operation %d of client %d, was asked for at %s, after %d, of operation %d of client %d, was answered at %s",
				g.key, r.process(g.start), int64(first^sign), e.Op, e.Client, r.clock(e.Call), int64(last^sign), before.Op, before.Client, r.clock(before.Return)) //nolint:gosec // G115: both ways alike
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
		v.invalid("porcupine could judge none of the slices of strict sequences that it was given, %d", v.Facts["slices_undecided"])
	}
	return nil
}

// pictures is of how many sequences a picture is kept, those with the most calls; one of a
// failure always is.
const pictures = 5

// modes are how the sequences were created, as far as the history says it.
func (r *Run) modes() (map[string]string, error) {
	modes := make(map[string]string)
	for line, err := range history.Lines(r.Dir) {
		if err != nil {
			return nil, err
		}
		if s := line.Sequence; s != nil && modes[s.Name] != history.ModeRelaxed { // strict is what always was strict
			modes[s.Name] = s.Mode
		}
	}
	return modes, nil
}

// isStrict reports whether an operation is about a strict sequence: as the history says it, or
// else because its workload has no other.
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
	answered []bool         // by call; one that was not may be answered when its request is repeated
	requests map[string]int // the call of a request with an ID, in the life in which it was answered last
	down     bool           // the sequence counts down
}

// add takes an operation. A request that is repeated under its ID is one call: from the first
// time that it was made to the first time that it was answered.
func (s *strictCalls) add(op history.Op) {
	if op.Outcome == history.Fail || op.Outcome == history.Info && op.RequestID == "" {
		return
	}
	if op.Do == history.DoRead && op.First == 0 && s.run.faulty(familyRestore, op.Call, op.Return) {
		return // until it is created or resumed again, a sequence has no last number
	}
	c := lincheck.Call{
		By:    fmt.Sprintf("operation %d of client %d, start %d", op.ID, op.Client, op.Start),
		Began: s.run.instant(op.Call), Ended: s.run.instant(op.Return), First: op.First, Last: op.First,
		Read: op.Do == history.DoRead,
	}
	if !c.Read && op.Outcome == history.OK {
		if _, err := numbersOf(op); err != nil {
			return // uniqueness tells it
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

// forgotten reports whether a request was made again, because a cluster was restored that does not know the answer of the
// one before.
func (s *strictCalls) forgotten(at int, c lincheck.Call, op history.Op) bool {
	was := s.calls[at]
	return op.Outcome == history.OK && s.answered[at] && (c.First != was.First || c.Last != was.Last) &&
		s.run.restored(s.run.moment(was.Began), op.Return)
}

// repeat adds what is known of a request that was made before.
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

// all are the calls that were answered, with numbers that ascend.
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

// moment is the opposite of instant.
func (r *Run) moment(instant time.Time) int64 { return instant.UnixNano() + r.Header.At }

// instant is a moment, as internal/lincheck prints it: since the run's beginning.
func (r *Run) instant(at int64) time.Time { return time.Unix(0, at-r.Header.At).UTC() }
