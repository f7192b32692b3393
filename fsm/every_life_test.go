package fsm

import (
	"bytes"
	"flag"
	"hash/maphash"
	"iter"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/internal/test/breadth"
	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Every life: the walk over all orders of few commands in the lives of a small cluster. The cluster has two members, one
// sequence, a layout of few workers, two API tokens and a clock of four ticks. It is backed up and restored, and the
// holders of the earlier life keep using their grants. No tick of a worker and no number of a period is granted twice in
// all lives. Nothing is forced, and the operator's statements are true, as in the lives that are drawn.

const (
	everyTick  = 12 * livesHour // length of a tick
	everyTicks = 4
)

// everyLayout has ticks of an hour.
var everyLayout = snowflake.Spec{
	Name: "small", UnitMillis: livesHour, EpochMillis: epoch, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 7}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 1},
	},
}

// everySpecs are the specifications that the sequence changes between.
var everySpecs = []*commandv1.SequenceSpec{
	everySpec(numbers(1, 1, 1, 6)),
	everySpec(numbers(1, 1, 1, 6), resetting(resetDaily)),
	everySpec(numbers(3, 1, 1, 6), resetting(resetDaily)),
	everySpec(numbers(1, 1, 1, 6), resetting(resetDaily), func(s *commandv1.SequenceSpec) { s.TimeZone = "east" }),
}

func everySpec(changes ...func(*commandv1.SequenceSpec)) *commandv1.SequenceSpec {
	return plain("s", append(changes, func(s *commandv1.SequenceSpec) { s.MinBlock, s.MaxBlock = 2, 2 })...)
}

// everyPeriods are the periods of the four ticks in all zones; the first one is that of a sequence without a reset.
var everyPeriods = [...]int32{0, 20250101, 20250102, 20250103}

// everyNumbers are the numbers of each period, a bit for each.
type everyNumbers [len(everyPeriods)]uint8

func (n everyNumbers) all() (mask uint8) {
	for _, m := range n {
		mask |= m
	}
	return mask
}

// everyBlock is the last block of a member that it can return.
type everyBlock struct {
	life   uint8
	token  uint64
	period uint8
	first  int64
}

// everyLane is the window of a member.
type everyLane struct {
	life          uint8
	token, worker uint64
	from, until   int64
}

// everyFacts are the knowledge of the audit. They are comparable.
type everyFacts struct {
	life   uint8
	tick   int64 // clock
	since  bool  // numbers were granted after the backup, or after the restore's one
	blocks [2]everyBlock
	lanes  [2]everyLane
	given  everyNumbers    // numbers that were granted and not returned
	late   everyNumbers    // those whose period had ended
	asked  [2]everyNumbers // those of each token's request
	ticks  [2][2]uint64    // ticks of each worker that were granted in each life and not released

	everyPast
	everyAway
}

// everyNode is a state of the whole.
type everyNode struct {
	everyFacts
	fsm    *State
	backup *State // nil: none
}

// everyTokens are the IDs of the API tokens.
var everyTokens [2]uint64

func newEveryLife(t *testing.T) *everyNode {
	t.Helper()
	l := newLog(t, everyLayout)
	l.must(setConfig(&commandv1.Config{
		MaxWindowMs: everyTick, WaitThresholdMs: 1, MaxClockOffsetMs: 1, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF, Upgrades: commandv1.Upgrades_UPGRADES_AUTO,
	}, 0))
	for i, name := range []string{"a", "b"} {
		everyTokens[i] = l.token(name)
	}
	return &everyNode{everyFacts: everyFacts{life: 1}, fsm: l.State}
}

// everyAction is one of an alphabet. It returns nil where it can do nothing.
type everyAction struct {
	name string
	do   func(n *everyNode) (*everyNode, error)
}

func (n *everyNode) steps(alphabet []everyAction) iter.Seq[breadth.Step[*everyNode]] {
	return func(yield func(breadth.Step[*everyNode]) bool) {
		for _, act := range alphabet {
			next, err := act.do(n)
			if next != nil && !yield(breadth.Step[*everyNode]{Name: act.name, Next: next, Err: err}) {
				return
			}
		}
	}
}

// propose applies a command to a copy of the state. It returns nil if the command is refused.
func (n *everyNode) propose(cmd *commandv1.Command) (*everyNode, Result) {
	next := *n
	next.fsm = cloneState(n.fsm)
	if r := next.apply(cmd); r.Err == nil {
		return &next, r
	}
	return nil, Result{}
}

func (n *everyNode) apply(cmd *commandv1.Command) Result {
	return n.fsm.Apply(n.fsm.index+1, uint64(n.life), at(n.millis(), cmd))
}

func (n *everyNode) millis() int64 { return epoch + n.tick*everyTick }

// everyRecord is the state machine's knowledge of the sequence, without indexes.
type everyRecord struct {
	sequence
	spec                   sequenceSpec
	live, buried, restored bool
	first, latest          bool // whether the numbering is the incarnation's first one, and began with the last change
	returnable             [2]bool
	closed                 bool
	observed               int64
	ends                   [2]ended
	since, open            int32
	answers                [3]everyAnswer // one without a token, and one for each token
}

type everyAnswer struct {
	some    bool
	current bool // belongs to the present incarnation
	block   BlockGrant
}

// everyWorker is the state machine's knowledge of a worker, without indexes.
type everyWorker struct {
	high, from int64
	released   bool
	holder     string
	current    [2]bool // held by each member
}

type everyKey struct {
	everyFacts
	fsm, backup everyRecord
	workers     [2][2]everyWorker
	past        [2]everyJobs
}

var everySeed = maphash.MakeSeed()

func (n *everyNode) key() uint64 {
	k := everyKey{everyFacts: n.everyFacts, fsm: n.record(n.fsm), backup: n.record(n.backup)}
	k.workers[0], k.workers[1] = n.workers(n.fsm), n.workers(n.backup)
	if k.past[0] = everyJobsOf(n.fsm); n.backup != nil {
		k.past[1] = everyJobsOf(n.backup)
	}
	for i := range k.blocks {
		k.blocks[i].token, k.lanes[i].token = 0, 0
	}
	return maphash.Comparable(everySeed, k)
}

func (n *everyNode) record(s *State) everyRecord {
	if s == nil {
		return everyRecord{}
	}
	r := everyRecord{restored: s.restored != nil, closed: s.restored.GetNamesClosed(), observed: s.observed}
	var q *sequence
	if q, r.live = s.sequences.live.Get("s"); !r.live {
		q, r.buried = s.sequences.deleted.Get("s")
	}
	for _, a := range s.answers.kept() {
		known := everyAnswer{some: true, current: r.live && a.incarnation == q.incarnation, block: a.block}
		known.block.Generation = 0
		r.answers[slices.Index(everyTokens[:], a.owner)+1] = known
	}
	if q == nil {
		return r
	}
	r.sequence, r.spec, r.first, r.latest = *q, *q.spec, q.numbering == q.incarnation, q.numbering == q.generation
	for i, b := range n.blocks {
		r.returnable[i] = q.lastToken != 0 && q.lastToken == b.token
	}
	l := q.late.value()
	copy(r.ends[:], l.ends)
	r.since, r.open = l.since, l.open
	r.sequence.late, r.sequence.formats, r.sequence.spec, r.sequence.created, r.sequence.lastToken = nil, nil, nil, 0, 0
	r.sequence.incarnation, r.sequence.generation, r.sequence.numbering = 0, 0, 0
	return r
}

func (n *everyNode) workers(s *State) (all [2]everyWorker) {
	if s == nil {
		return all
	}
	w := &s.layouts["small"].workers
	for i := range min(2, w.count()) {
		k := w.see(i)
		all[i] = everyWorker{high: k.highWater, from: k.from, released: k.released, holder: k.holder}
		for m, lane := range n.lanes {
			all[i].current[m] = lane.token == k.token
		}
	}
	return all
}

func (n *everyNode) snapshot() (*State, error) {
	var b bytes.Buffer
	if _, err := n.fsm.WriteTo(&b); err != nil {
		return nil, err
	}
	return ReadState(&b, Version)
}

var everyDepth = flag.Int("fsm.life", 0, "how many steps the walk over every life takes; 0: as many as its alphabet allows")

func TestEveryLife(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]struct {
		alphabet              []everyAction
		ordinary, gate, night int // steps
		least                 int // states of the ordinary depth
	}{
		"periods":  {slices.Concat(everyClock, everyChanges, everyBlocks[:1], everyRestores), 8, 16, 18, 14_000},
		"numbers":  {slices.Concat(everyClock, everyChanges, everyBlocks, everyRestores), 6, 9, 11, 11_000},
		"requests": {slices.Concat(everyClock, everyChanges[:4], everyRequests, everyRestores), 8, 40, 40, 4000},
		"late":     {slices.Concat(everyClock, everyLateChanges, everyBlocks[:2], everyLate, everyRestores), 6, 9, 11, 3200},
		"moves":    {slices.Concat(everyChanges[:3], everyBlocks[:2], everyMoves, everyRestores, everySnapshot), 8, 14, 16, 2000},
		"IDs":      {slices.Concat(everyClock, everyWindows, everyRestores), 7, 11, 13, 13_000},
		"past":     {slices.Concat(everyClock, everyWindows[:4], everyBackfill, everyRestores, everySnapshot), 6, 9, 10, 1000},
		"all":      {slices.Concat(everyClock, everyChanges, everyBlocks, everyRequests, everyWindows, everyRestores, everySnapshot), 4, 6, 7, 3200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := newEveryLife
			switch name {
			case "past":
				root = newEveryPast
			case "moves":
				root = newEveryMove
			}
			steps := depth.Walk(depth.Little(w.ordinary/2, w.ordinary), w.gate, w.night)
			if *everyDepth > 0 {
				steps = *everyDepth
			}
			seen, err := breadth.World[*everyNode]{
				Root: root(t), Key: (*everyNode).key,
				Steps: func(n *everyNode) iter.Seq[breadth.Step[*everyNode]] { return n.steps(w.alphabet) },
			}.Walk(steps)
			t.Logf("%d states, %d steps within depth %d", seen.States, seen.Steps, steps)
			if err != nil {
				t.Fatal(err)
			}
			if steps >= w.ordinary && seen.States < w.least {
				t.Errorf("%d states within %d steps, want at least %d", seen.States, steps, w.least)
			}
		})
	}
}
