package simtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/trust"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/member"
)

const (
	relaxed = commandv1.SequenceMode_SEQUENCE_MODE_RELAXED
	strict  = commandv1.SequenceMode_SEQUENCE_MODE_STRICT
)

// plain returns a sequence that counts from 1, with small blocks.
func plain(name string, mode commandv1.SequenceMode) *commandv1.SequenceSpec {
	return &commandv1.SequenceSpec{
		Name: name, Mode: mode, Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64,
		BlockDurationMs: 2000, MinBlock: 5, MaxBlock: 1000, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
	}
}

// like returns a copy of a specification with a change.
func like(spec *commandv1.SequenceSpec, set func(*commandv1.SequenceSpec)) *commandv1.SequenceSpec {
	spec = proto.CloneOf(spec)
	set(spec)
	return spec
}

// ofAllKinds returns sequences for simulations of other faults than those of sequences.
func ofAllKinds() []rules {
	descending := func(s *commandv1.SequenceSpec) {
		s.Start, s.Increment, s.Min, s.Max = -5, -3, math.MinInt64, 0
	}
	return []rules{
		{spec: plain("relaxed", relaxed)},
		{spec: plain("strict", strict)},
		{spec: like(plain("relaxed/down", relaxed), descending)},
		{spec: like(plain("strict/down", strict), descending)},
		{spec: plain("relaxed/changed", relaxed), changes: true},
		{spec: plain("strict/changed", strict), changes: true},
		{spec: plain("relaxed/forced", relaxed), changes: true, forced: true},
		{spec: plain("strict/forced", strict), changes: true, forced: true},
		{spec: plain("relaxed/strict", relaxed), changes: true, modes: true},
	}
}

// createSequences creates the sequences that the clients use.
func (w *world) createSequences() {
	w.Helper()
	for _, r := range w.sequences {
		w.numbers.add(r)
		w.until(recovery, "a sequence is created", func() bool {
			ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
			defer cancel()
			c, err := w.leader().proc().member.CreateSequence(ctx, r.spec, member.Force{})
			if err == nil {
				w.numbers.of(r.spec.GetName()).defined(c.Sequence.Numbering, c.Sequence.Spec)
			}
			return err == nil
		})
	}
	w.counted.Store(true)
	for _, n := range w.live() {
		n.proc().count()
	}
	w.stopChanging = w.change()
}

// count starts the clients of sequences: one for the relaxed sequences and one for the strict ones.
func (p *process) count() {
	if !p.counting.CompareAndSwap(false, true) {
		return
	}
	for kind, number := range []func(*client){(*client).relaxed, (*client).strict} {
		c := &client{process: p, rng: p.source(ofRelaxed + kind), seen: make(map[string]position)}
		for _, r := range p.sequences {
			if s := p.numbers.of(r.spec.GetName()); s.strict() == (kind == 1) {
				c.all = append(c.all, s)
			}
		}
		if len(c.all) == 0 {
			p.gave[kind].Store(math.MaxInt64)
			continue
		}
		p.clients.Go(func() {
			tick := time.NewTicker(p.pace + time.Duration(c.rng.Int64N(int64(4*p.pace))))
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					number(c)
				case <-p.stop:
					return
				}
			}
		})
	}
}

func (n *numbers) of(name string) *series {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.series[name]
}

// client requests numbers of some sequences, in no order.
type client struct {
	*process
	rng  *rand.Rand
	all  []*series
	seen map[string]position // the last number that this member issued from its own blocks
	sent int
}

func (c *client) draw() (s *series, count uint64) {
	count = 1
	switch c.rng.IntN(30) {
	case 0:
		count = 1 + c.rng.Uint64N(300)
	case 1, 2, 3:
		count = 1 + c.rng.Uint64N(10)
	}
	return c.all[c.rng.IntN(len(c.all))], count
}

// relaxed sends a request to the member itself or, with an ID, to the leader.
func (c *client) relaxed() {
	s, count := c.draw()
	if c.rng.IntN(10) == 0 && !s.changes {
		c.identified(s, count)
		return
	}
	ctx, cancel := c.timeout()
	defer cancel()
	name := s.spec.GetName()
	a := s.askOwn(c.seen[name])
	if s.modes { // the mode may differ now or change meanwhile
		a = s.askModal()
	}
	n, err := c.next(ctx, s, count, "")
	if !c.isSpent(0, s, err) && c.answers(0, s, err) {
		c.seen[name] = s.give(c.name, a, n)
	}
}

// strict sends a request to the leader, sometimes for the last number.
func (c *client) strict() {
	s, count := c.draw()
	what := c.rng.IntN(10)
	if what < 3 && !s.changes {
		c.identified(s, count)
		return
	}
	ctx, cancel := c.timeout()
	defer cancel()
	a := s.ask(position{})
	if what < 5 && !s.forced && s.spec.GetReset_() == commandv1.SequenceReset_SEQUENCE_RESET_NONE {
		last, ok, err := c.issuing.Last(ctx, s.spec.GetName())
		if c.answers(1, s, err) {
			s.learned(c.name, a, last, ok)
		}
		return
	}
	n, err := c.next(ctx, s, count, "")
	if !c.isSpent(1, s, err) && c.answers(1, s, err) {
		s.give(c.name, a, n)
	}
}

// identified sends a request with an ID, or repeats a request of any client.
func (c *client) identified(s *series, count uint64) {
	ctx, cancel := c.timeout()
	defer cancel()
	r := s.repeatable(c.rng.IntN)
	if r == nil || c.rng.IntN(2) == 0 {
		c.sent++
		r = s.open(fmt.Sprintf("%s-%d-%d", c.name, c.start, c.sent), count)
	}
	n, err := c.next(ctx, s, r.count, r.id)
	if c.answers(-1, s, err) {
		s.answered(c.name, r, n)
	}
}

// next requests numbers as callers of the member do; requestID is "" for a request without an ID.
func (p *process) next(ctx context.Context, s *series, count uint64, requestID string) (member.Numbering, error) {
	return p.issuing.Next(admitted(ctx, s.spec.GetName()), s.spec.GetName(), count, requestID)
}

// anyone is a caller in an open cluster.
var anyone = member.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN}

// timeout returns a request's context, which ends with the process.
func (p *process) timeout() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	go func() {
		select {
		case <-p.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// answers reports whether a request was answered to a client that still runs.
func (p *process) answers(kind int, s *series, err error) bool {
	switch {
	case p.dead.Load():
		return false // no client got the answer
	case err == nil:
		if kind >= 0 {
			p.gave[kind].Store(time.Now().UnixNano())
		}
		return true
	}
	p.refusedNumbers.Store(&err)
	if !expectedOfSequences(err) || isUnknown(err) && !s.changes { // an unchanged sequence always exists
		p.audit.fault("%s refused numbers with an unexpected error: %v", p.name, err)
	}
	return false
}

// isSpent reports whether a request was refused for lack of numbers, which happens when changes move the
// bounds, and counts it. Only a leader refuses for that reason, so the refusal counts as an answer.
func (p *process) isSpent(kind int, s *series, err error) bool {
	refused, ok := errors.AsType[*fsm.Refused](err)
	if !ok || !s.changes || refused.Reason != commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED {
		return false
	}
	if !p.dead.Load() {
		p.gave[kind].Store(time.Now().UnixNano())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent++
	return true
}

// expectedOfSequences reports whether an error is of the kinds that callers know how to handle.
func expectedOfSequences(err error) bool {
	for _, e := range []error{
		member.ErrNoLeader, cluster.ErrNotLeader, cluster.ErrUnknownOutcome, cluster.ErrClosed, errRefused,
		allocator.ErrClosed, allocator.ErrOutdatedBlock, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	if isUnknown(err) {
		return true // a change deleted the sequence
	}
	if refused, ok := errors.AsType[*fsm.Refused](err); ok {
		return refused.Reason == commandv1.Refusal_REFUSAL_GENERATION_MISMATCH
	}
	var skew *clock.SkewError
	return errors.As(err, &skew)
}

// askOne requests one number of a strict sequence, and the last number, from a member that may lead.
func (p *process) askOne(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	s := p.numbers.of(name)
	a := s.ask(position{})
	n, err := p.member.NextAtLeader(ctx, name, 1, "")
	if p.answers(-1, s, err) {
		s.give(p.name, a, n)
	}
	a = s.ask(position{})
	last, ok, lastErr := p.member.LastAtLeader(ctx, name)
	if p.answers(-1, s, lastErr) {
		s.learned(p.name, a, last, ok)
	}
	return errors.Join(err, lastErr)
}

// gives reports whether the process has issued numbers of all kinds since a moment.
func (p *process) gives(since time.Time) bool {
	return len(p.sequences) == 0 || !p.counted.Load() ||
		p.gave[0].Load() > since.UnixNano() && p.gave[1].Load() > since.UnixNano()
}

func (p *process) lastErrorOfSequences() error {
	if err := p.refusedNumbers.Load(); err != nil {
		return *err
	}
	return nil
}

// admitted returns the context of a request for numbers in an open cluster.
func admitted(ctx context.Context, sequence string) context.Context {
	a, _ := trust.Open().Admit(trust.RightNextNumbers, sequence) // everyone has every right
	return trust.WithAdmission(ctx, a)
}
