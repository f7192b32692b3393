//go:build linux

package siege

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/workload"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// Phase is the length of calm or hostile traffic, warmUp the time before the first phase: rates fall at first.
	Phase  = 10 * time.Second
	warmUp = 5 * time.Second
	// In a phase, protocols have this many turns each.
	cycles = 10
	// A client connects again after about this time, so that strangers can keep it away.
	connectionLasts = 2 * time.Second
)

// Siege is a measurement.
type Siege struct {
	// Rounds is the number of times that both phases come.
	Rounds int
	// Shared has the strangers act from the address of the clients.
	Shared bool
	// Only are the kinds of acts to make; empty for all.
	Only []string

	now     atomic.Int64 // phase
	turns   *turns
	tallies []*tally
	first   atomic.Pointer[string] // failure
	report  Report
}

// Play makes the measurement in a lab. It is a script of a run.
func (s *Siege) Play(ctx context.Context, w *workload.World) error {
	s.now.Store(between)
	s.turns = newTurns()
	err := w.Create(ctx,
		&snowraftv1.Sequence{Name: strictName, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT},
		&snowraftv1.Sequence{Name: relaxedName, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED})
	if err != nil {
		return err
	}
	host, err := s.host(ctx, w.Lab)
	if err != nil {
		return err
	}
	s.report = Report{Time: time.Duration(s.Rounds) * Phase, Acts: make(map[string]uint64), Addresses: len(host.Addresses())}
	calling, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for i, p := range protocols() {
		s.tallies = append(s.tallies, &tally{})
		for _, m := range w.Lab.Founders() {
			for range clients {
				wg.Go(func() { s.calls(calling, w.Lab, p, m, i) })
			}
		}
	}
	s.phase(ctx, between, warmUp)
	for round := range s.Rounds {
		if err := s.round(ctx, w.Lab, host, uint64(round)); err != nil {
			return err
		}
	}
	stop()
	wg.Wait()
	for _, m := range w.Lab.Founders() {
		s.report.Largest = max(s.report.Largest, m.MostMemory())
	}
	return ctx.Err()
}

// host is where the strangers are.
func (s *Siege) host(ctx context.Context, l *lab.Lab) (*network.Host, error) {
	if s.Shared {
		return l.Net.Host(network.Harness)
	}
	return l.Outsider(ctx)
}

// round is a calm phase and a hostile one, in turns in this order and in the other: a rate that falls all the time, as the
// machine has more to do, says nothing about strangers.
func (s *Siege) round(ctx context.Context, l *lab.Lab, host *network.Host, number uint64) error {
	if number%2 == 1 {
		if err := s.besiege(ctx, l, host, number); err != nil {
			return err
		}
	}
	s.phase(ctx, Calm, Phase)
	if number%2 == 0 {
		return s.besiege(ctx, l, host, number)
	}
	return ctx.Err()
}

// besiege is a hostile phase.
func (s *Siege) besiege(ctx context.Context, l *lab.Lab, host *network.Host, seed uint64) error {
	strangers, err := nemesis.Besiege(ctx, l, l.Founders(), host, seed, s.Only)
	if err != nil {
		return err
	}
	s.phase(ctx, Hostile, Phase)
	made, err := strangers.End()
	if err != nil {
		return err
	}
	for kind, n := range made.Acts {
		s.report.Acts[kind] += n
	}
	s.report.Processor += made.Processor
	return ctx.Err()
}

// phase gives the protocols their turns for a time. Afterwards the last one keeps it.
func (s *Siege) phase(ctx context.Context, phase int64, length time.Duration) {
	s.now.Store(phase)
	defer s.now.Store(between)
	for range cycles {
		for i, t := range s.tallies {
			s.turns.give(i)
			began := history.Now()
			history.Sleep(ctx, length/time.Duration(cycles*len(s.tallies)))
			t.time[phase] += time.Duration(history.Now() - began)
		}
	}
}

// calls makes one call after the other in its protocol's turns until ctx ends, each second or two on another connection. A connection that cannot be
// made is a failed call.
func (s *Siege) calls(ctx context.Context, l *lab.Lab, p protocol, m *lab.Member, number int) {
	var c client
	var connected int64
	t := s.tallies[number]
	for ctx.Err() == nil {
		s.turns.await(ctx, number)
		phase, began := s.now.Load(), history.Now()
		err := func() (err error) {
			within, cancel := context.WithTimeout(ctx, callLimit)
			defer cancel()
			if c == nil {
				if c, err = p.connect(within, l, m); err != nil {
					c = nil
					return fmt.Errorf("connection: %w", err)
				}
				connected = began
			}
			return c.call(within)
		}()
		ended := history.Now()
		if ctx.Err() == nil {
			took := time.Duration(ended - began)
			t.count(int(phase), int(s.now.Load()), took, err)
			if err != nil {
				text := fmt.Sprintf("%s at %s after %v: %v", p.name, m.Name, took.Round(time.Millisecond), err)
				s.first.CompareAndSwap(nil, &text)
				history.Sleep(ctx, 10*time.Millisecond)
			}
		}
		if c != nil && (err != nil || ended-connected > int64(connectionLasts)) {
			_ = c.Close() // no call is open
			c = nil
		}
	}
	if c != nil {
		_ = c.Close()
	}
}

// Report is what Play showed.
func (s *Siege) Report() Report {
	r := s.report
	for i, p := range protocols() {
		t := s.tallies[i]
		one := Protocol{Name: p.name, Slowest: time.Duration(t.slowest[Hostile].Load())}
		for phase := range one.Rates {
			one.Rates[phase] = float64(t.done[phase].Load()) / t.time[phase].Seconds()
		}
		for phase := range t.failed {
			one.Failed += t.failed[phase].Load()
		}
		r.Protocols = append(r.Protocols, one)
	}
	if first := s.first.Load(); first != nil {
		r.First = *first
	}
	return r
}
