package fsm

import (
	"cmp"
	"fmt"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Replay applies the end of a stopped member's log, which may never have been committed. The log of the earlier cluster
// agrees with it up to some index, which the member does not know, and differs after that index. So the state that
// Replay returns covers the state at each index of the log: everything that is granted in any of them is granted in it.
//
//   - Replay applies the log as it is, so that the state at each index is exact. It compares no digests, so it also reads
//     the log of a member that halted because its state differs from the others'.
//   - It keeps the highest high-water of each worker, all numbers that were granted, including those that were returned, and
//     all sequences, including those that were deleted.
//   - The observed clock is the one at the end, even if an operator lowered it: the windows that were granted before are
//     known, and the operator states what the clocks showed later.
//   - It keeps the answers to request IDs from before the log, and none from the log: the earlier cluster may have granted
//     their numbers to other requests.
type Replay struct {
	state     *State
	supported uint32

	maxWindow, maxOffset int64 // the greatest in force so far; ms
	answers              []answer
	high                 map[cellOwner]int64 // the greatest high-water of each worker that was released
	sequences            map[string]*trail
}

type cellOwner struct {
	layout string
	worker uint64
}

// trail is the history of the sequences of one name.
type trail struct {
	first  *sequence // the record before the log, or the first one; it must not be changed
	last   *sequence // the last live sequence, or the deleted one if no sequence was live
	live   bool      // last was not deleted
	used   hull      // numbers granted in the latest period
	all    hull      // numbers granted in all periods
	period int32     // the latest period
	late   late      // earlier periods, with the numbers that were returned in them
	plain  bool      // some sequence of the name had no reset
	stops  stops     // those of all sequences of the name
}

// NewReplay returns a Replay that starts from the state just before a log. The Replay owns the state. supported is the
// newest fsm_version to accept.
func NewReplay(s *State, supported uint32) *Replay {
	r := &Replay{state: s, supported: supported, answers: s.answers.kept(), high: map[cellOwner]int64{}, sequences: map[string]*trail{}}
	r.raiseMaxima()
	s.certain = s.certainClock()
	return r
}

// Apply applies the next entry of the log, and ignores entries that are not commands. The error wraps [ErrHalted]: the
// entry is damaged or unknown, or halts the state.
func (r *Replay) Apply(log *raft.Log) error {
	if log.Type != raft.LogCommand {
		return nil
	}
	cmd, err := decodeFor(log, r.supported)
	if err != nil {
		return haltOver(log, err)
	}
	name := sequenceOf(cmd)
	r.follow(name)
	if c := cmd.GetReleaseWorker(); c != nil {
		r.keepHigh(cellOwner{c.GetLayout(), c.GetWorker()})
	}
	if cmd.GetCheckpoint() != nil { // the member may have halted here, because its log has entries of two branches
		r.state.lastCheckpoint = checkpointOf(0, [32]byte{})
	}
	if result := r.state.applyLog(log, cmd); result.Halted != nil {
		return result.Halted
	}
	r.follow(name)
	r.raiseMaxima()
	return nil
}

// sequenceOf returns the name of the sequence that a command is about; empty if there is none.
func sequenceOf(cmd *commandv1.Command) string {
	return cmp.Or(
		cmd.GetCreateSequence().GetSpec().GetName(), cmd.GetUpdateSequence().GetSpec().GetName(), cmd.GetDeleteSequence().GetName(),
		cmd.GetAllocateBlock().GetName(), cmd.GetReturnBlock().GetName(), cmd.GetResumeSequence().GetName(), cmd.GetBeginSequence().GetName(),
		cmd.GetMoveSequence().GetName(),
		cmd.GetReserveNumbers().GetName(), cmd.GetConfirmNumbers().GetName(), cmd.GetVoidNumbers().GetName(),
		cmd.GetTakeNumbers().GetName(), cmd.GetResolveNumbers().GetName(),
	)
}

// raiseMaxima raises the maxima to those of the present configuration.
func (r *Replay) raiseMaxima() {
	if len(r.state.layouts) > 0 { // without one, no window was granted: a new cluster sets its configuration first
		r.maxWindow = max(r.maxWindow, r.state.Config().GetMaxWindowMs())
	}
	r.maxOffset = max(r.maxOffset, r.state.Config().GetMaxClockOffsetMs())
}

// keepHigh keeps the high-water of a worker that is about to be released.
func (r *Replay) keepHigh(k cellOwner) {
	if l, ok := r.state.layouts[k.layout]; ok && k.worker < uint64(l.workers.count()) {
		r.high[k] = max(r.high[k], l.workers.at(int(k.worker)).highWater)
	}
}

// follow adds the present state of a name to its trail.
func (r *Replay) follow(name string) {
	q, live := r.state.sequences.live.Get(name)
	if !live {
		var ok bool
		if q, ok = r.state.sequences.deleted.Get(name); !ok {
			return
		}
	}
	t := r.sequences[name]
	if t == nil {
		t = &trail{first: q}
		r.sequences[name] = t
	}
	if live || !t.live {
		t.last, t.live = q, live
	}
	t.plain, t.stops = t.plain || !q.spec.resets(), t.stops|q.stops
	t.late = t.late.join(q.late.value())
	if q.period > t.period {
		if e, known := t.late.find(t.period); known {
			t.late = t.late.with(ended{e.period, e.frozen, e.base, e.used.join(t.used)})
		}
		t.period, t.used = q.period, hull{}
	}
	t.used, t.all = t.used.join(q.used), t.all.join(q.used)
}

// join returns the hull of both.
func (h hull) join(other hull) hull {
	if !other.some {
		return h
	}
	return h.add(other.low).add(other.high)
}

// Limits returns the largest maximum window and maximum clock offset that were in force, in ms.
func (r *Replay) Limits() (maxWindowMillis, maxOffsetMillis int64) {
	return max(r.maxWindow, r.state.Config().GetMaxWindowMs()), r.maxOffset
}

// State returns the state that covers the states at all indexes. It fails if a cluster cannot have that many sequences.
// The Replay must not be used after that.
func (r *Replay) State() (*State, error) {
	s := r.state
	for k, high := range r.high {
		s.layouts[k.layout].raise(int(k.worker), high)
	}
	for _, t := range r.sequences {
		q := t.covering()
		if t.live {
			s.sequences.put(q)
		} else {
			s.sequences.putDeleted(q)
		}
	}
	if n := s.sequences.len(); n > s.maxSequences {
		return nil, fmt.Errorf("%d sequences, including those that were deleted last: expected at most %d", n, s.maxSequences)
	}
	s.countBegun()
	s.answers = newAnswers()
	for _, a := range r.answers {
		s.answers.append(a)
	}
	return s, nil
}

// covering returns a sequence that covers all of the trail.
func (t *trail) covering() *sequence {
	q := *t.last
	q.stops |= t.stops & stopMoved
	q.forbidReturn()
	if t.period > q.period {
		q.moveTo(q.spec.start)
		q.period = t.period
	}
	q.used = t.used.join(q.used)
	q.keep(t.late)
	if t.plain { // numbers must not begin again with a period
		q.used = t.all
		q.withoutReset()
	}
	q.coverNumbers(t.last, t.first)
	return &q
}

// raise raises the high-water of a worker, whose last window ends there, if it is lower.
func (l *layout) raise(number int, high int64) {
	if k := l.workers.at(number); k.highWater < high {
		l.workers.setHighWater(number, high)
		l.history.setUntil(k.token, high)
	}
}
