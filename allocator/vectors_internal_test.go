package allocator

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/internal/test/vectors"
	"github.com/snowraft/snowraft/snowflake"
)

// play is one script of windows.json while a lane plays it: it has no goroutine, and its clock stands still between two
// steps.
type play struct {
	t        *testing.T
	lane     *lane
	watch    *clock.Watch
	now      clock.Reading
	observed atomic.Int64
	base     int64 // observed clock - Mono

	step *step  // the present step, with the answer of the granter
	last uint64 // ID of the last extension
}

// TestWindowVectors plays each script of windows.json and records what the lane does.
func TestWindowVectors(t *testing.T) {
	scripts := windowScripts()
	for _, s := range scripts {
		t.Run(s.Name, func(t *testing.T) { s.play(t) })
	}
	vectors.Check(t, "..", "windows.json", map[string]any{
		"about":   "What one lane of an embedded generator does, step by step; see README.md",
		"scripts": scripts,
	})
}

func (s *script) play(t *testing.T) {
	layout := s.Layout.layout(t)
	p := &play{t: t, now: clock.Reading{Wall: s.Start.Wall, Mono: s.Start.Mono}}
	p.watch = clock.NewWatch(func() clock.Reading { return p.now }, &p.observed, clock.Limits{
		WaitThreshold: threshold * time.Millisecond, MaxOffset: maxOffset * time.Millisecond,
	})
	i := &Issuer{
		layout: layout, granter: p, watch: p.watch, maxAhead: maxAhead * time.Millisecond, observe: p.observe,
		events: events.Discard, calls: t.Context(),
	}
	p.lane = &lane{issuer: i, holder: "h/0", log: slog.New(slog.DiscardHandler), kicks: make(chan struct{}, 1)}
	i.lanes = []*lane{p.lane}
	for k := range s.Steps {
		p.step = &s.Steps[k]
		p.play()
		if p.step.Answer != nil && p.step.Request == nil {
			t.Fatalf("step %d has an answer, and made no request", k)
		}
	}
}

func (p *play) play() {
	switch s := p.step; {
	case s.Clock != nil:
		p.now = clock.Reading{Wall: s.Clock.Wall, Mono: s.Clock.Mono}
	case s.Member != nil:
		p.observe(s.Member.Observed)
		p.watch.ObservePeer(s.Member.ID, s.Member.Clock-s.Member.Offset, time.Duration(s.Member.Took)*time.Millisecond)
	case s.Check:
		if p.observed.Load() != 0 {
			p.observed.Store(p.base + p.now.Mono)
		}
		p.watch.Update()
	case s.Renew:
		p.lane.extendAt = p.now.Mono // the extension is due
		p.lane.step()
		s.Window = p.window()
	case s.Next > 0:
		p.next(s)
	case s.Close:
		p.close(s)
	}
}

// observe sets the observed clock in the way of a generator.
func (p *play) observe(millis int64) {
	if millis > 0 {
		p.base = millis - p.now.Mono
		p.observed.Store(millis)
	}
}

// window returns the window of the lane.
func (p *play) window() *windowState {
	held := p.lane.held()
	if held == nil {
		return nil
	}
	return &windowState{held.worker, held.token, held.from, held.until()}
}

// next takes IDs above the floor of the step until one is refused.
func (p *play) next(s *step) {
	s.IDs = []id{}
	for len(s.IDs) < s.Next {
		if err := p.lane.issuer.check(p.now); err != nil {
			s.Refusal = refusal(err)
			return
		}
		held, start, _ := p.lane.issuer.try(p.now, 1, s.After)
		if held == nil {
			s.Refusal = p.refusal(s.After)
			return
		}
		s.IDs = append(s.IDs, id(held.id(start)))
	}
}

func (p *play) refusal(after uint64) *refused {
	p.lane.mu.Lock()
	closed := p.lane.stopped
	p.lane.mu.Unlock()
	if closed {
		return refusal(ErrClosed)
	}
	if err := p.lane.issuer.reachable(p.now, p.watch.Limits(), after); err != nil {
		return refusal(err)
	}
	o := p.lane.outlook(p.now, p.watch.Limits(), after)
	if o.wait > 0 {
		return &refused{Reason: "WAIT", Wait: o.wait.Milliseconds()}
	}
	return refusal(o.err)
}

func (p *play) close(s *step) {
	p.lane.stop()
	p.lane.finish()
	s.Released = s.Request != nil
}

// refusal returns the reason of an error, as clients show it.
func refusal(err error) *refused {
	var behind *clock.BehindError
	var skew *clock.SkewError
	var ended *WindowEndedError
	var exhausted *WorkersExhaustedError
	switch {
	case errors.As(err, &behind):
		return &refused{Reason: "CLOCK_BEHIND", Behind: behind.Behind.Milliseconds()}
	case errors.As(err, &skew):
		return &refused{Reason: "CLOCK_SKEW", Ahead: skew.Ahead.Milliseconds()}
	case errors.As(err, &ended):
		return &refused{Reason: "WINDOW_ENDED"}
	case errors.As(err, &exhausted):
		return &refused{Reason: "WORKERS_EXHAUSTED"}
	case errors.Is(err, ErrTimeExhausted):
		return &refused{Reason: "TIME_EXHAUSTED"}
	case errors.Is(err, ErrInvalidArgument):
		return &refused{Reason: "INVALID_ARGUMENT"}
	case errors.Is(err, ErrClosed):
		return &refused{Reason: "CLOSED"}
	}
	return &refused{Reason: err.Error()}
}

// AcquireWorker implements Granter.
func (p *play) AcquireWorker(_ context.Context, r AcquireRequest) (Grant, error) {
	p.step.Request = &request{Kind: "acquire", Clock: r.NowMillis, Window: r.Window.Milliseconds()}
	return p.answer()
}

// ExtendWindow implements Granter.
func (p *play) ExtendWindow(_ context.Context, r ExtendRequest) (Grant, error) {
	repeats := r.ID == p.last
	p.last = r.ID
	p.step.Request = &request{
		Kind: "extend", Clock: r.NowMillis, Worker: r.Worker, Token: r.Token, Until: r.Until, Repeats: &repeats,
	}
	return p.answer()
}

// ReleaseWorker implements Granter.
func (p *play) ReleaseWorker(_ context.Context, r ReleaseRequest) error {
	p.step.Request = &request{Kind: "release", Worker: r.Worker, Token: r.Token, Until: r.Until, Next: &r.Next}
	return nil
}

func (p *play) answer() (Grant, error) {
	a := p.step.Answer
	switch {
	case a == nil:
		p.t.Fatalf("a request without an answer in the script: %+v", p.step.Request)
	case a.Lost:
		return Grant{}, context.DeadlineExceeded
	case a.Error == "WINDOW_MISMATCH":
		return Grant{}, ErrWindowMismatch
	case a.Error == "WORKERS_EXHAUSTED":
		return Grant{}, &WorkersExhaustedError{RetryAt: time.UnixMilli(p.now.Wall + 60_000)}
	case a.Error != "":
		return Grant{}, errors.New(a.Error)
	}
	return Grant{
		Worker: a.Grant.Worker, Token: a.Grant.Token, From: a.Grant.From, Until: a.Grant.Until,
		ObservedMillis: a.Grant.Observed, MaxWindow: time.Duration(a.Grant.MaxWindow) * time.Millisecond,
	}, nil
}

// layout returns the layout of a script.
func (l layoutSpec) layout(t *testing.T) *snowflake.Layout {
	t.Helper()
	spec := snowflake.Spec{Name: l.Name, UnitMillis: l.Unit, EpochMillis: l.Epoch, Spread: l.Spread}
	for _, f := range l.Fields {
		field, err := snowflake.ParseField(f.Kind)
		if err != nil {
			t.Fatal(err)
		}
		spec.Fields = append(spec.Fields, snowflake.FieldBits{Field: field, Bits: f.Bits})
	}
	layout, err := snowflake.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}
