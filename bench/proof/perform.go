//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/network"
)

// A play is a system on its stage: the servers and the applications.
type play struct {
	*stage
	record  *record
	servers []*box
	apps    []*box
	another func(context.Context) (*box, error) // starts an application in a container of its own
	// primary returns the server that accepts writes; any server if all do. nil for a system without servers.
	primary func(context.Context) (*box, error)
}

// note adds a line of the harness to the record, unless the applications have not begun.
func (p *play) note(text string) {
	if p.record != nil {
		p.record.note(harness, '#', text)
	}
}

// perform runs a system through the faults of a course, writes the raw file, and counts it.
func perform(ctx context.Context, s system, c course, raw string) (outcome, error) {
	var none outcome
	net, err := network.New(ctx)
	if err != nil {
		return none, err
	}
	defer func() { _ = net.Close() }()
	dir, err := os.MkdirTemp("", "proof-")
	if err != nil {
		return none, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { // accounts of servers enter it
		return none, err
	}
	began := time.Now()
	p := &play{stage: &stage{net: net, dir: dir, clock: c.clock}}
	command, err := s.start(ctx, p)
	if err != nil {
		return none, fmt.Errorf("start %s: %w", s.name, err)
	}
	if p.record, err = newRecord(raw); err != nil {
		return none, err
	}
	prepared := time.Since(began)
	p.another = callers(p, s, command)
	for range apps {
		if err := p.add(ctx); err != nil {
			return none, err
		}
	}
	if err := p.play(ctx, c.faults); err != nil {
		return none, fmt.Errorf("%s: %w", s.name, err)
	}
	sleep(ctx, c.length-time.Since(p.record.began))
	if err := ctx.Err(); err != nil { // a part of a run shows nothing
		return none, err
	}
	spent, err := processorTime()
	if err != nil {
		return none, err
	}
	for _, a := range p.apps {
		a.kill()
	}
	if err := p.record.close(); err != nil {
		return none, err
	}
	o, err := tally(raw)
	if err == nil {
		err = s.judge(c, raw, o)
	}
	o.Prepared, o.Processor = prepared, spent
	return o, err
}

// callers returns a function that starts one more application each time, in a container of its own. With s.twins, the containers
// have equal MAC addresses, like the first containers of several hosts; otherwise those of containers of one host.
func callers(p *play, s system, command func(app int) *spec) func(context.Context) (*box, error) {
	started := 0
	return func(ctx context.Context) (*box, error) {
		c := command(started)
		started++
		b, err := p.host(ctx, "app"+strconv.Itoa(started))
		if err != nil {
			return nil, err
		}
		last := 2
		if !s.twins {
			last = 1 + started
		}
		if err := b.run(ctx, "", "ip", "link", "set", "dev", "eth0", "address", fmt.Sprintf("02:42:ac:11:00:%02x", last)); err != nil {
			return nil, err
		}
		c.own, c.out = true, func(from io.Reader) { p.record.listen(b.Name, from) }
		return b, b.start(c)
	}
}

// add starts one more application.
func (p *play) add(ctx context.Context) error {
	b, err := p.another(ctx)
	if err == nil {
		p.apps = append(p.apps, b)
	}
	return err
}

// play lets faults begin and end at their times.
func (p *play) play(ctx context.Context, faults []fault) error {
	for _, f := range faults {
		sleep(ctx, f.At-time.Since(p.record.began))
		if err := ctx.Err(); err != nil {
			return err
		}
		end, err := p.begin(ctx, f)
		if err != nil {
			return fmt.Errorf("%v: %w", f.Kind, err)
		}
		if end == nil {
			continue
		}
		p.record.note(harness, '(', f.String())
		over := time.Now().Add(f.For)
		if err := p.play(ctx, f.During); err != nil {
			return err
		}
		sleep(ctx, time.Until(over))
		err = end()
		p.record.note(harness, ')', string(f.Kind))
		if err != nil {
			return fmt.Errorf("%v: %w", f.Kind, err)
		}
	}
	return nil
}

// begin starts a fault and returns the function that stops it; nil if the system has nothing that it could hit.
func (p *play) begin(ctx context.Context, f fault) (end func() error, err error) {
	var primary *box
	if f.Kind.ofPrimary() {
		if p.primary == nil {
			return nil, nil
		}
		if primary, err = p.primary(ctx); err != nil {
			return nil, err
		}
	}
	switch f.Kind {
	case killPrimary:
		primary.kill()
		return func() error { return primary.restart(0) }, nil
	case setPrimary, hourPrimary:
		return func() error { return primary.restart(0) }, primary.restart(-f.Kind.back())
	case pausePrimary:
		primary.pause()
		return func() error { primary.resume(); return nil }, nil
	case cutPrimary:
		app := p.apps[f.App]
		inside := []string{primary.Name, app.Name}
		outside := append(names(without(p.servers, primary)), names(without(p.apps, app))...)
		cut, err := p.net.Cut(ctx, network.Between(inside, append(outside, network.Harness)), network.All, network.Drop)
		if err != nil {
			return nil, err
		}
		return func() error { return cut.Heal(ctx) }, nil
	case pauseApp:
		app := p.apps[f.App]
		app.pause()
		p.record.note(app.Name, '(', "")
		return func() error { app.resume(); p.record.note(app.Name, ')', ""); return nil }, nil
	case setApp, hourApp:
		app := p.apps[f.App]
		return func() error { return app.restart(0) }, app.restart(-f.Kind.back())
	case passHour:
		return func() error { return nil }, p.pass()
	case deploy:
		for _, a := range p.apps {
			if err := a.restart(0); err != nil {
				return nil, err
			}
		}
		return func() error { return nil }, nil
	case loseApp:
		p.apps[f.App].kill()
		p.apps[f.App], err = p.another(ctx)
		return func() error { return nil }, err
	case addApp:
		return func() error { return nil }, p.add(ctx)
	}
	return nil, fmt.Errorf("unknown fault %q", f.Kind)
}

// pass stops everything in order, and starts it again with the right time.
func (p *play) pass() error {
	for _, a := range p.apps {
		a.kill()
	}
	var stopping sync.WaitGroup
	for _, b := range p.servers {
		stopping.Go(b.stop)
	}
	stopping.Wait()
	p.clock = 0
	for _, b := range append(slices.Clone(p.servers), p.apps...) {
		if err := b.restart(0); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
