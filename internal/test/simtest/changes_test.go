package simtest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
)

// spreadTimeout is the longest time that a change waits until the other members have applied it.
const spreadTimeout = 2 * time.Second

// change makes an operator's changes at random intervals until stop is called or the world ends.
func (w *world) change() (stop func()) {
	var changing []*series
	for _, r := range w.sequences {
		if r.changes {
			changing = append(changing, w.numbers.of(r.spec.GetName()))
		}
	}
	end := make(chan struct{})
	var done sync.WaitGroup
	for i, s := range changing {
		rng := w.source(ofChanges + uint64(i))
		done.Go(func() {
			for {
				select {
				case <-end:
					return
				case <-time.After(time.Duration(rng.Int64N(int64(20 * time.Second)))):
				}
				if live := w.live(); len(live) > 0 {
					if p := live[rng.IntN(len(live))].proc(); p != nil && p.opened() != nil {
						p.change(s, rng)
					}
				}
			}
		})
	}
	return func() { close(end); done.Wait() }
}

// The kinds of changes.
const (
	changesText = iota
	changesNext
	changesSteps
	changesBounds
	changesMode
	recreates
	changeKinds
)

// change makes one change of a sequence.
func (p *process) change(s *series, rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	name, highest := s.spec.GetName(), s.highest()
	s.change()
	var changed member.Changed
	var err error
	var next *int64
	var other *member.GenerationError
	edit := describe
	kind, expected := rng.IntN(changeKinds), p.seen(name, rng)
	switch {
	case kind == changesNext: // forward, or backward if forced
		next = new(max(1, highest+rng.Int64N(1000)-500))
		edit = func(spec *commandv1.SequenceSpec) { include(spec, *next) }
	case kind == changesSteps:
		n := rng.Int()
		edit = func(spec *commandv1.SequenceSpec) { step(spec, n) }
	case kind == changesBounds:
		below, above := rng.Int64N(2000), rng.Int64N(2000)
		edit = func(spec *commandv1.SequenceSpec) { confine(spec, highest, below, above) }
	case kind == changesMode && s.modes:
		edit = func(spec *commandv1.SequenceSpec) { spec.Mode = relaxed + strict - spec.GetMode() }
	case kind == changesMode:
		kind = changesText
	}
	if kind != recreates {
		changed, err = atLeader(ctx, p, func(ctx context.Context, m *member.Member) (member.Changed, error) {
			return m.UpdateSequence(ctx, name, member.Update{Next: next, Force: member.Force{Numbers: s.forced, Format: s.forced}, Expected: expected, Edit: func(spec *commandv1.SequenceSpec) error {
				edit(spec)
				s.define(spec)
				return nil
			}})
		})
	} else if changed, err = atLeader(ctx, p, func(ctx context.Context, m *member.Member) (member.Changed, error) {
		return m.DeleteSequence(ctx, name, expected)
	}); err == nil || isUnknown(err) {
		s.follows(expected, changed.Index)
		expected = nil
		s.spread(p, changed)
		again := like(s.spec, func(spec *commandv1.SequenceSpec) {
			if !s.forced {
				spec.Start = s.highest() + 10_000 // beyond numbers granted and not issued
			}
		})
		s.define(again)
		changed, err = atLeader(ctx, p, func(ctx context.Context, m *member.Member) (member.Changed, error) {
			return m.CreateSequence(ctx, again, member.Force{Numbers: s.forced, Format: s.forced})
		})
	}
	switch refused, is := errors.AsType[*fsm.Refused](err); {
	case err == nil:
		s.follows(expected, changed.Sequence.Generation)
		s.defined(changed.Sequence.Numbering, changed.Sequence.Spec)
		s.defined(changed.Sequence.Generation, changed.Sequence.Spec)
		s.make(kind)
		s.spread(p, changed)
	case is && (refused.Reason == commandv1.Refusal_REFUSAL_WOULD_REPEAT || refused.Reason == commandv1.Refusal_REFUSAL_SEQUENCE_EXISTS):
	case expected != nil && errors.As(err, &other) && other.Present != *expected:
	case !expectedOfSequences(err) && !p.dead.Load():
		p.audit.fault("%s refused a change of %s with an unexpected error: %v", p.name, name, err)
	}
}

// seen returns, half of the time, the generation of a sequence in this member's replica, for a change to expect.
func (p *process) seen(name string, rng *rand.Rand) *uint64 {
	if q, ok := p.member.State().Sequence(name); ok && rng.IntN(2) == 0 {
		return &q.Generation
	}
	return nil
}

// follows checks that no other change lies between the generation that a change expected and the change.
func (s *series) follows(expected *uint64, generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.known {
		if expected != nil && g > *expected && g < generation {
			s.fault("a change of %s expected generation %d, and was made at %d after another one at %d", s.spec.GetName(), *expected, generation, g)
		}
	}
}

// describe makes a change without an effect on numbers.
func describe(spec *commandv1.SequenceSpec) {
	spec.Description += "."
	if len(spec.GetDescription()) > 100 {
		spec.Description = ""
	}
}

// include widens the bounds if a number lies outside.
func include(spec *commandv1.SequenceSpec, number int64) {
	if number < spec.GetMin() || number > spec.GetMax() {
		unbind(spec)
	}
}

// step sets another increment of the same sign, with which no issued number repeats.
func step(spec *commandv1.SequenceSpec, n int) {
	others := slices.DeleteFunc([]int64{1, 2, 3, 7, 10}, func(i int64) bool { return i == spec.GetIncrement() })
	spec.Increment = others[n%len(others)]
}

// confine sets the end of a sequence a little after the highest number, or removes it.
func confine(spec *commandv1.SequenceSpec, highest, below, above int64) {
	if spec.GetMax() != math.MaxInt64 {
		unbind(spec)
		return
	}
	spec.Min = max(1, highest-below)
	spec.Start, spec.Max = spec.GetMin(), max(spec.GetMin(), highest)+above
}

func unbind(spec *commandv1.SequenceSpec) { spec.Start, spec.Min, spec.Max = 1, 1, math.MaxInt64 }

func isUnknown(err error) bool {
	_, is := errors.AsType[*member.UnknownSequenceError](err)
	return is
}

// spread waits, like the server, until all live members have applied a change, and records whether all
// have. The leader has applied it, and only the leader issues strict numbers.
func (s *series) spread(p *process, c member.Changed) {
	if p.dead.Load() || c.Index == 0 {
		return
	}
	generation := c.Sequence.Numbering
	if generation == 0 {
		generation = c.Index // deleted
	}
	if s.strict() {
		s.done(generation)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), spreadTimeout)
	defer cancel()
	var reached sync.WaitGroup
	var mu sync.Mutex
	missed := false
	for _, m := range p.member.Node().Members() {
		reached.Go(func() {
			var err error
			if m.ID == p.member.Node().ID() {
				err = p.member.State().AwaitApplied(ctx, c.Index)
			} else {
				_, err = call(ctx, &apiPort{p.net, p, p.net.at(m.API)}, func(ctx context.Context, there *member.Member) (struct{}, error) {
					return struct{}{}, there.State().AwaitApplied(ctx, c.Index)
				})
			}
			mu.Lock()
			defer mu.Unlock()
			missed = missed || err != nil
		})
	}
	reached.Wait()
	if !missed && !p.dead.Load() {
		s.done(generation)
	}
}
