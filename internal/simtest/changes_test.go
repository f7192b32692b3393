package simtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
)

// spreadTimeout is how long a change waits for the other members to have applied it.
const spreadTimeout = 2 * time.Second

// change is what an operator does now and then, until the world ends.
func (w *world) change() (stop func()) {
	var changing []*series
	for _, r := range w.sequences {
		if r.changes {
			changing = append(changing, w.numbers.of(r.spec.GetName()))
		}
	}
	end := make(chan struct{})
	var done sync.WaitGroup
	for _, s := range changing {
		done.Go(func() {
			for {
				select {
				case <-end:
					return
				case <-time.After(rand.N(20 * time.Second)):
				}
				if live := w.live(); len(live) > 0 {
					if p := live[rand.N(len(live))].proc(); p != nil && p.opened() != nil {
						p.change(s)
					}
				}
			}
		})
	}
	return func() { close(end); done.Wait() }
}

// change makes one change of a sequence.
func (p *process) change(s *series) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	l, err := p.leads()
	if err != nil {
		return
	}
	name := s.spec.GetName()
	s.change()
	var changed member.Changed
	describe := func(spec *commandv1.SequenceSpec) error {
		spec.Description += "."
		if len(spec.GetDescription()) > 100 {
			spec.Description = ""
		}
		return nil
	}
	keep := func(*commandv1.SequenceSpec) error { return nil }
	switch rand.N(4) {
	case 0:
		changed, err = l.UpdateSequence(ctx, name, describe, nil, s.forced)
	case 1, 2: // forward, or back if it is forced
		next := max(1, s.highest()+rand.Int64N(1000)-500)
		changed, err = l.UpdateSequence(ctx, name, keep, &next, s.forced)
	case 3:
		if changed, err = l.DeleteSequence(ctx, name); err == nil || isUnknown(err) {
			s.spread(p, changed)
			again := like(s.spec, func(spec *commandv1.SequenceSpec) {
				if !s.forced {
					spec.Start = s.highest() + 10_000 // beyond what was granted and not given
				}
			})
			changed, err = l.CreateSequence(ctx, again, s.forced)
		}
	}
	switch refused, is := errors.AsType[*fsm.Refused](err); {
	case err == nil:
		s.spread(p, changed)
	case is && (refused.Reason == commandv1.Refusal_REFUSAL_WOULD_REPEAT || refused.Reason == commandv1.Refusal_REFUSAL_SEQUENCE_EXISTS):
	case !expectedOfSequences(err) && !p.dead.Load():
		p.audit.fault("%s refused a change of %s in a way that it never should: %v", p.name, name, err)
	}
}

func isUnknown(err error) bool {
	_, is := errors.AsType[*member.UnknownSequenceError](err)
	return is
}

// spread waits until all members that are alive have applied a change, as the server
// does, and notes it if all have. The leader has, and alone gives out strict numbers.
func (s *series) spread(p *process, c member.Changed) {
	if p.dead.Load() || c.Index == 0 {
		return
	}
	if s.strict() {
		s.done(c.Index)
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
		s.done(c.Index)
	}
}
