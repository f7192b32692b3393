package simtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/internal/member"
)

// numbers is the audit of sequences. It records every issued number, and depends on
// neither blocks nor leaders.
type numbers struct {
	fault func(format string, args ...any)

	calendar calendar

	mu     sync.Mutex
	series map[string]*series
	count  uint64 // issued numbers
}

// series records the issued numbers of one sequence.
type series struct {
	*numbers
	rules
	definitions
	given    map[stretch]uint64  // issued numbers, one bit per number
	lowest   map[int32]int64     // distance of the lowest number from the start, by period
	texts    map[string]struct{} // texts of the answers' first numbers
	newest   position            // latest position in an answer; only for strict sequences and changing modes
	changing int                 // changes begun
	made     [changeKinds]int    // changes made
	spent    int                 // requests refused for lack of numbers
	changed  uint64              // lowest generation that a member may still issue
	requests []*request          // requests with an ID, oldest first
	answers  uint64
	repeated uint64 // answers to requests that had been answered before
}

// rules are the specification of a sequence and the assumptions of its audit.
type rules struct {
	spec    *commandv1.SequenceSpec
	changes bool // clients change the sequence now and then
	forced  bool // changes are forced and may repeat numbers
	modes   bool // changes include the mode
}

func (r *rules) strict() bool {
	return r.spec.GetMode() == commandv1.SequenceMode_SEQUENCE_MODE_STRICT
}

// stretch identifies 64 numbers by their quotient by 64.
type stretch struct {
	era    uint64
	period int32
	at     int64
}

// position is a place in a series. A later place compares greater.
type position struct {
	known  bool
	era    uint64 // no number may repeat within an era, except in another period
	period int32
	number int64 // negative when the series descends
}

func (p position) String() string { return fmt.Sprintf("(%d, %d, %d)", p.era, p.period, p.number) }

func (p position) compare(q position) int {
	switch {
	case p.known != q.known && q.known:
		return -1
	case p.known != q.known:
		return 1
	}
	return cmp.Or(cmp.Compare(p.era, q.era), cmp.Compare(p.period, q.period), cmp.Compare(p.number, q.number))
}

// request is a request with an ID, which clients send repeatedly.
type request struct {
	id        string
	count     uint64
	first     asked // state at the first attempt
	answer    *member.Numbering
	forgotten bool // the clocks were set: the cluster may have forgotten the answer
}

// asked is the state of the audit at the time of a request.
type asked struct {
	begun   time.Time
	least   time.Time // earliest time that a clock showed at begun
	after   position  // position before every valid answer
	changed uint64    // lowest generation of a valid answer
	changes int       // changes begun
	own     bool      // the called member issues the numbers, whether or not it leads

	strictly position // position before every valid answer with strict numbers
}

func newNumbers(fault func(string, ...any)) *numbers {
	return &numbers{fault: fault, series: make(map[string]*series)}
}

func (n *numbers) add(r rules) *series {
	s := &series{
		numbers: n, rules: r, definitions: newDefinitions(), given: make(map[stretch]uint64), lowest: make(map[int32]int64), texts: make(map[string]struct{}),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.series[r.spec.GetName()] = s
	s.asked[termsOf(r.spec)] = struct{}{}
	return s
}

// ask records the sending of a request by a client that has seen a number before.
func (s *series) ask(seen position) asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	a := asked{begun: now, least: s.calendar.least(now), after: seen, changed: s.changed, changes: s.changing}
	if s.strict() && a.after.compare(s.newest) < 0 {
		a.after = s.newest
	}
	return a
}

// askOwn is like ask, for numbers of a member's own blocks and a client that has seen one of them.
func (s *series) askOwn(seen position) asked {
	a := s.ask(seen)
	a.own = true
	return a
}

// askModal is like ask, for numbers of a sequence whose mode changes. All numbers of a later generation
// come after those of an earlier one. Strict numbers come after all numbers that were issued
// before the request.
func (s *series) askModal() asked {
	a := s.ask(position{})
	s.mu.Lock()
	defer s.mu.Unlock()
	a.strictly = s.newest
	return a
}

// give records an answer. It returns the position of its last number.
func (s *series) give(by string, a asked, n member.Numbering) position {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, last := s.position(n, 0), s.position(n, n.Count-1)
	name := s.spec.GetName()
	if first.compare(a.after) <= 0 || last.compare(first) < 0 {
		s.fault("%s issued %v to %v of %s, requested after %v was issued", by, first, last, name, a.after)
	}
	if t, ok := s.known[n.Generation]; ok && t.strict && first.compare(a.strictly) <= 0 {
		s.fault("%s issued %v to %v of %s, which is strict, requested after %v was issued", by, first, last, name, a.strictly)
	}
	s.judge(by, a.own, n)
	if n.Generation < a.changed {
		s.fault("%s issued %v of %s of generation %d after the change to %d", by, first, name, n.Generation, a.changed)
	}
	for i := range n.Count {
		s.take(by, s.position(n, i).era, n.Period, n.Number(i))
	}
	lowest, some := s.lowest[n.Period]
	if after := s.afterStart(n.First); !some || after < lowest {
		s.lowest[n.Period] = after
	}
	s.text(by, n)
	s.timely(by, a, n)
	if (s.strict() || s.modes) && s.newest.compare(last) < 0 {
		s.newest = last
	}
	s.answers++
	s.count += n.Count
	return last
}

// take records a number, and a fault if it was issued before.
func (s *series) take(by string, era uint64, period int32, number int64) {
	at, bit := stretch{era, period, number >> 6}, uint64(1)<<(number&63)
	if s.given[at]&bit != 0 {
		s.fault("%s issued %d of %s in period %d, which was issued before", by, number, s.spec.GetName(), period)
	}
	s.given[at] |= bit
	if increment := s.spec.GetIncrement(); (number-s.spec.GetStart())%increment != 0 && !s.changes {
		s.fault("%s issued %d of %s, which is not in steps of %d from %d", by, number, s.spec.GetName(), increment, s.spec.GetStart())
	}
}

// position returns the position of an answer's number with an index.
func (s *series) position(n member.Numbering, index uint64) position {
	p := position{known: true, period: n.Period, number: s.direct(n.Number(index))}
	if s.forced {
		p.era = n.Generation
	}
	return p
}

// direct returns a value that is greater for later numbers.
func (s *series) direct(number int64) int64 {
	if s.spec.GetIncrement() < 0 {
		return -number
	}
	return number
}

func (s *series) afterStart(number int64) int64 {
	return s.direct(number) - s.direct(s.spec.GetStart())
}

// text checks whether the text of an answer's first number was issued before.
func (s *series) text(by string, n member.Numbering) {
	if s.spec.GetFormat() == "" {
		return
	}
	text := string(n.Append(nil, 0))
	if _, again := s.texts[text]; again {
		s.fault("%s issued the text %s of %s, which was issued before", by, text, s.spec.GetName())
	}
	s.texts[text] = struct{}{}
}

// learned records the answer to a request for the last number.
func (s *series) learned(by string, a asked, last int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := position{known: ok, period: a.after.period, number: s.direct(last)}
	if !ok && a.changes > 0 {
		return // a changed sequence can lack a last number
	}
	if p.compare(a.after) < 0 {
		s.fault("%s got %v as the last number of %s after %v was issued", by, p, s.spec.GetName(), a.after)
	}
	if p.compare(s.newest) > 0 {
		s.newest = p
	}
}

// change records that a change begins.
func (s *series) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changing++
}

// make records that a change of a kind was made.
func (s *series) make(kind int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[kind]++
}

// done records that all members know a generation.
func (s *series) done(generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = max(s.changed, generation)
}

// highest returns a number that lies after all issued numbers.
func (s *series) highest() (highest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range s.given {
		highest = max(highest, (at.at+1)<<6)
	}
	return highest
}

// open creates a request with an ID, which other clients may repeat from now on.
func (s *series) open(id string, count uint64) *request {
	r := &request{id: id, count: count, first: s.ask(position{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	return r
}

// repeatable returns one of the latest requests with an ID.
func (s *series) repeatable(draw func(int) int) *request {
	const latest, age = 10, 3 * time.Minute // the cluster remembers ten
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests = s.requests[max(0, len(s.requests)-latest):]; len(s.requests) == 0 {
		return nil
	}
	if r := s.requests[draw(len(s.requests))]; time.Since(r.first.begun) < age {
		return r
	}
	return nil
}

// answered records an answer to a request with an ID.
func (s *series) answered(by string, r *request, n member.Numbering) {
	s.mu.Lock()
	before := r.answer
	if before == nil {
		r.answer = &n
	} else {
		s.repeated++
	}
	forgotten := r.forgotten
	s.mu.Unlock()
	if before == nil {
		s.give(by, r.first, n)
		return
	}
	if forgotten {
		return
	}
	if before.First != n.First || before.Count != n.Count || before.Increment != n.Increment || before.Period != n.Period ||
		string(before.Append(nil, 0)) != string(n.Append(nil, 0)) {
		s.fault("%s answered request %s with %+v, and earlier with %+v", by, r.id, n, *before)
	}
}

func (n *numbers) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := fmt.Sprintf("%d numbers:", n.count)
	for _, name := range slices.Sorted(maps.Keys(n.series)) {
		s := n.series[name]
		text += fmt.Sprintf(" %s %d answers, %d repeated, %d spent, %d changes, made %v;", name, s.answers, s.repeated, s.spent, s.changing, s.made)
	}
	return text
}
