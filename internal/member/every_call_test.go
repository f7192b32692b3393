package member

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/test/breadth"
	"github.com/snowraft/snowraft/internal/test/depth"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/trust"
)

// Every call: the walk over all orders of calls at a leader with its real memory, allocator and state machine. A strict
// sequence is created, deleted and created again. Two API tokens call, also by a way on which the caller's actor is lost, and a
// call that found its sequence before may return at any time. Each order of calls has a sequence and a term of its own on one
// member.
//
// No number is issued twice, and a repeated request gets the same number from the same token only. A strict number is greater
// than those that were returned before its call. A caller without its actor changes nothing.

// everyCall is an order of calls, as places in everyCalls, and the key of the state after it.
type everyCall struct {
	path []int
	key  uint64
}

// everyStage is the member on which the orders are played.
type everyStage struct {
	*testing.T
	m       *Member
	tokens  [2]context.Context // contexts of the two callers
	without context.Context    // context of a caller whose actor was lost
	plays   int
}

// everyPlay is one order of calls while it is played.
type everyPlay struct {
	*everyStage
	name    string
	created int64 // number of creations
	lt      *leaderTerm

	held     *strictSequence // found by the call that began before
	heldFrom int64           // last number that was returned before that call

	last   int64          // last number that was returned
	issued map[int64]bool // numbers that were returned
	asked  [2]map[uint64]everyAnswer
}

// everyAnswer is the answer to a request with an ID in an incarnation.
type everyAnswer struct {
	after  int64 // last number that was returned before the first attempt
	number int64 // 0: not answered yet
}

func newEveryStage(t *testing.T) *everyStage {
	t.Helper()
	s := &everyStage{T: t, without: trust.WithPrincipal(t.Context(), trust.Admin())}
	s.m = openOne(t, func(c *Config) {
		mem := raft.NewInmemStore()
		c.Cluster.Storage = &storage.Stores{Logs: mem, Stable: mem, Snapshots: raft.NewInmemSnapshotStore()}
	})
	s.tokens = [2]context.Context{s.caller("a"), s.caller("b")}
	return s
}

// caller returns the context of the calls with a new token.
func (s *everyStage) caller(name string) context.Context {
	made, err := s.m.CreateToken(s.Context(), TokenSpec{Name: name, Hash: [32]byte{name[0]}, Scopes: []string{"seq:next:*"}})
	if err != nil {
		s.Fatal(err)
	}
	return WithActor(s.without, Actor{Kind: commandv1.ActorKind_ACTOR_KIND_TOKEN, Token: made.Token.ID, JudgedAt: s.m.State().Applied()})
}

// play plays an order of calls and returns the key of the state after it.
func (s *everyStage) play(path []int) (uint64, error) {
	p := &everyPlay{everyStage: s, name: fmt.Sprint("s", s.plays), issued: map[int64]bool{}, asked: [2]map[uint64]everyAnswer{{}, {}}}
	s.plays++
	p.term()
	defer func() {
		_, _ = s.m.DeleteSequence(s.Context(), p.name, nil)
		s.m.leaderTerm.Store(newLeaderTerm(s.m))
	}()
	if err := p.create(s.Context()); err != nil {
		s.Fatal(err)
	}
	p.find()
	for _, call := range path {
		if err := everyCalls[call].do(p); err != nil {
			return 0, err
		}
	}
	return p.key(), nil
}

// everyCalls is the alphabet.
var everyCalls = []struct {
	name string
	do   func(p *everyPlay) error
}{
	{"delete", func(p *everyPlay) error {
		_, _ = p.m.DeleteSequence(p.Context(), p.name, nil)
		return nil
	}},
	{"create", func(p *everyPlay) error { _ = p.create(p.Context()); return nil }},
	{"create without an actor", func(p *everyPlay) error {
		if err := p.create(p.without); err == nil {
			return errors.New("created a sequence for a caller without its actor")
		}
		return nil
	}},
	{"sweep", func(p *everyPlay) error { p.lt.sweep(-manyGone(0)); return nil }},
	{"term", func(p *everyPlay) error { p.term(); return nil }},
	{"find", func(p *everyPlay) error { p.find(); return nil }},
	{"next", func(p *everyPlay) error {
		from := p.last
		n, err := p.m.NextAtLeader(p.tokens[0], p.name, 1, "")
		return p.issue(n.First, from, err)
	}},
	{"next of the held", func(p *everyPlay) error {
		if p.held == nil {
			return nil
		}
		n, err := p.held.next(p.Context(), 1)
		return p.issue(n.First, p.heldFrom, err)
	}},
	{"request", func(p *everyPlay) error { return p.ask(p.tokens[0], 0) }},
	{"request of the other", func(p *everyPlay) error { return p.ask(p.tokens[1], 1) }},
	{"request without an actor", func(p *everyPlay) error { return p.ask(p.without, 0) }},
	{"request of the other without an actor", func(p *everyPlay) error { return p.ask(p.without, 1) }},
	{"request of the held", func(p *everyPlay) error {
		if p.held == nil {
			return nil
		}
		return p.answer(0, p.heldFrom, func() (int64, error) {
			n, err := p.held.record(p.tokens[0], 1, "r")
			return n.First, err
		})
	}},
	{"last", func(p *everyPlay) error {
		last, ok, err := p.m.LastAtLeader(p.Context(), p.name)
		if q, exists := p.m.fsm.Sequence(p.name); err == nil && exists && p.last >= q.Spec.GetStart() && (!ok || last < p.last) {
			return fmt.Errorf("the last number is %d, %v, after %d was returned", last, ok, p.last)
		}
		return nil
	}},
}

// create creates the sequence, beyond the numbers of earlier incarnations.
func (p *everyPlay) create(ctx context.Context) error {
	if _, exists := p.m.fsm.Sequence(p.name); exists {
		return errors.New("the sequence exists")
	}
	_, err := p.m.CreateSequence(ctx, &commandv1.SequenceSpec{
		Name: p.name, Start: 1 + 10_000*p.created, Increment: 1, Min: 1, Max: math.MaxInt64, BlockDurationMs: 1000, MinBlock: 100, MaxBlock: 100,
		Mode: commandv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
	}, Force{})
	if err == nil {
		p.created++
	}
	return err
}

// term begins another term, in which the leader has no memory of the last one.
func (p *everyPlay) term() {
	if p.lt != nil {
		p.lt.term--
	}
	p.lt = newLeaderTerm(p.m)
	p.m.leaderTerm.Store(p.lt)
}

// find begins a call that holds the sequence.
func (p *everyPlay) find() {
	p.held = nil
	if now, exists := p.m.fsm.Sequence(p.name); exists {
		p.held, p.heldFrom = p.lt.sequence(p.name, now.Incarnation), p.last
	}
}

// issue notes a number that is returned by a call that began after another number was returned.
func (p *everyPlay) issue(number, after int64, err error) error {
	switch {
	case err != nil:
		return nil
	case p.issued[number]:
		return fmt.Errorf("%d was issued twice", number)
	case number <= after:
		return fmt.Errorf("%d was issued after %d", number, after)
	}
	p.issued[number] = true
	p.last = max(p.last, number)
	return nil
}

func (p *everyPlay) ask(ctx context.Context, caller int) error {
	return p.answer(caller, p.last, func() (int64, error) {
		n, err := p.m.NextAtLeader(ctx, p.name, 1, "r")
		return n.First, err
	})
}

// answer notes the answer to a request with an ID. An attempt that failed may have been granted a number.
func (p *everyPlay) answer(caller int, after int64, request func() (int64, error)) error {
	now, _ := p.m.fsm.Sequence(p.name)
	a, again := p.asked[caller][now.Incarnation]
	if !again {
		a.after = after
	}
	number, err := request()
	known := err == nil && a.number == number
	if err == nil {
		a.number = number
	}
	p.asked[caller][now.Incarnation] = a
	if known {
		return nil
	}
	return p.issue(number, a.after, err)
}

// key returns a hash of the state: what the replica, the leader's memory and the callers know, without indexes.
func (p *everyPlay) key() uint64 {
	h := fnv.New64a()
	q, exists := p.m.fsm.Sequence(p.name)
	fmt.Fprintln(h, exists, q.Next, q.HasLast, q.Last, p.created, p.last, slices.Sorted(maps.Keys(p.issued)), p.heldFrom)
	fmt.Fprintln(h, p.asked[0][q.Incarnation], p.asked[1][q.Incarnation], len(p.lt.byIncarnation))
	p.write(h, q, p.lt.byIncarnation[q.Incarnation])
	p.write(h, q, p.held)
	return h.Sum64()
}

func (p *everyPlay) write(h interface{ Write([]byte) (int, error) }, q fsm.Sequence, s *strictSequence) {
	if s == nil {
		fmt.Fprintln(h)
		return
	}
	stats := s.numbers.Stats()
	last, some := s.numbers.Last()
	fmt.Fprintln(h, s.incarnation == q.Incarnation, s == p.held, s.lt == p.lt, s.gave.generation == q.Generation, s.gave.known, s.gave.number,
		last, some, stats.Taken, stats.Skipped, stats.Blocks, stats.BlockSize)
}

var everyCallDepth = flag.Int("member.calls", depth.Walk(depth.Little(3, 4), 7, 8), "how many calls the walk over every call takes")

func TestEveryCall(t *testing.T) {
	s := newEveryStage(t)
	root, err := s.play(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := breadth.World[everyCall]{
		Root: everyCall{key: root}, Key: func(c everyCall) uint64 { return c.key },
		Steps: func(c everyCall) iter.Seq[breadth.Step[everyCall]] {
			return func(yield func(breadth.Step[everyCall]) bool) {
				for i, call := range everyCalls {
					next := everyCall{path: append(slices.Clip(c.path), i)}
					var err error
					if next.key, err = s.play(next.path); !yield(breadth.Step[everyCall]{Name: call.name, Next: next, Err: err}) {
						return
					}
				}
			}
		},
	}.Walk(*everyCallDepth)
	t.Logf("%d states, %d steps within depth %d", seen.States, seen.Steps, *everyCallDepth)
	if err != nil {
		t.Fatal(err)
	}
	if *everyCallDepth >= 4 && seen.States < 900 {
		t.Errorf("%d states, want at least 900", seen.States)
	}
}
