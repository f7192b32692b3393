//go:build linux

package siege

import (
	"context"
	"errors"
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
	// Phase is the duration of calm or hostile traffic. warmUp is the time before the first phase: rates fall in the
	// beginning.
	Phase  = 10 * time.Second
	warmUp = 5 * time.Second
	// cycles is the number of turns of each protocol in a phase.
	cycles = 10
	// connectionLasts is the time after which a client connects again, which gives strangers a chance to keep it out.
	connectionLasts = 2 * time.Second
)

// Siege is a measurement.
type Siege struct {
	// Rounds is the number of pairs of a calm and a hostile phase.
	Rounds int
	// Shared gives the strangers the address of the clients.
	Shared bool
	// Only lists the acts to make; empty means all.
	Only []string

	now     atomic.Int64 // current phase
	turns   *turns
	tallies []*tally
	first   atomic.Pointer[string] // first failure
	report  Report
}

// Play makes the measurement. Package run calls it as the script of a run.
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
	if err := s.phase(ctx, between, warmUp); err != nil {
		return err
	}
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

// host returns the host of the strangers.
func (s *Siege) host(ctx context.Context, l *lab.Lab) (*network.Host, error) {
	if s.Shared {
		return l.Net.Host(network.Harness)
	}
	return l.Outsider(ctx)
}

// round makes a calm and a hostile phase. Odd rounds begin with the hostile phase: a rate that falls steadily for another
// reason must not look like the effect of strangers.
func (s *Siege) round(ctx context.Context, l *lab.Lab, host *network.Host, number uint64) error {
	if number%2 == 1 {
		if err := s.besiege(ctx, l, host, number); err != nil {
			return err
		}
	}
	if err := s.phase(ctx, Calm, Phase); err != nil || number%2 == 1 {
		return err
	}
	return s.besiege(ctx, l, host, number)
}

// besiege makes a hostile phase.
func (s *Siege) besiege(ctx context.Context, l *lab.Lab, host *network.Host, seed uint64) error {
	strangers, err := nemesis.Besiege(ctx, l, l.Founders(), host, seed, s.Only)
	if err != nil {
		return err
	}
	err = s.phase(ctx, Hostile, Phase)
	made, ended := strangers.End()
	if err = errors.Join(err, ended); err != nil {
		return err
	}
	for kind, n := range made.Acts {
		s.report.Acts[kind] += n
	}
	s.report.Processor += made.Processor
	return nil
}

// phase gives the protocols their turns for the duration of a phase. Afterwards, the last protocol keeps its turn.
func (s *Siege) phase(ctx context.Context, phase int64, length time.Duration) error {
	s.now.Store(phase)
	defer s.now.Store(between)
	for range cycles {
		for i, t := range s.tallies {
			s.turns.give(i)
			began, err := machineTime()
			if err != nil {
				return err
			}
			history.Sleep(ctx, length/time.Duration(cycles*len(s.tallies)))
			ended, err := machineTime()
			if err != nil {
				return err
			}
			t.time[phase] += max(0, ended-began)
		}
	}
	return ctx.Err()
}

// calls runs one client until ctx ends: it makes calls one after the other in the turns of its protocol, and reconnects
// after connectionLasts. A failed connection counts as a failed call.
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
			_ = c.Close() // no call is in progress
			c = nil
		}
	}
	if c != nil {
		_ = c.Close()
	}
}

// Report returns the results of Play. Requires that Play has returned.
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
