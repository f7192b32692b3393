//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/snowraft/snowraft/jepsen/network"
)

// fewest is the number of calls below which a run shows nothing: an application did not work.
const fewest = 10_000

// A play is a system on its stage: the servers and the applications.
type play struct {
	*stage
	record  *record
	servers []*box
	apps    []*box
	// primary returns the server that accepts writes; any server if all do. nil for a system without servers.
	primary func(context.Context) (*box, error)
}

// note adds a line of the harness to the record, unless the applications have not begun.
func (p *play) note(text string) {
	if p.record != nil {
		p.record.note(harness, '#', text)
	}
}

// perform runs a system through the faults of a plan, writes the raw file, and counts it.
func perform(ctx context.Context, s system, faults []fault, raw string) (outcome, error) {
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
	p := &play{stage: &stage{net: net, dir: dir}}
	command, err := s.start(ctx, p)
	if err != nil {
		return none, fmt.Errorf("start %s: %w", s.name, err)
	}
	if p.record, err = newRecord(raw); err != nil {
		return none, err
	}
	if err := p.callers(ctx, s, command); err != nil {
		return none, err
	}
	for _, f := range faults {
		if err := p.play(ctx, f); err != nil {
			return none, fmt.Errorf("%s: %v: %w", s.name, f.Kind, err)
		}
	}
	sleep(ctx, length(faults)-time.Since(p.record.began))
	for _, a := range p.apps {
		a.kill()
	}
	if err := p.record.close(); err != nil {
		return none, err
	}
	o, err := tally(raw)
	if err == nil && o.Calls < fewest {
		err = fmt.Errorf("%d calls show nothing", o.Calls)
	}
	return o, err
}

// callers starts the applications, each in a container of its own. With s.twins, their containers have equal MAC addresses, as
// those of one container on several hosts have.
func (p *play) callers(ctx context.Context, s system, command func(app int) *spec) error {
	for i := range apps {
		b, err := p.host(ctx, "app"+strconv.Itoa(i+1))
		if err != nil {
			return err
		}
		if s.twins {
			if err := b.run(ctx, "", "ip", "link", "set", "dev", "eth0", "address", "02:42:ac:11:00:02"); err != nil {
				return err
			}
		}
		p.apps = append(p.apps, b)
		c := command(i)
		c.own, c.out = true, func(from io.Reader) { p.record.listen(b.Name, from) }
		if err := b.start(c); err != nil {
			return err
		}
	}
	return nil
}

// play lets one fault begin and end at its times.
func (p *play) play(ctx context.Context, f fault) error {
	sleep(ctx, f.At-time.Since(p.record.began))
	end, err := p.begin(ctx, f)
	if err != nil || end == nil {
		return err
	}
	p.record.note(harness, '(', f.String())
	sleep(ctx, f.For)
	err = end()
	p.record.note(harness, ')', string(f.Kind))
	return err
}

// begin starts a fault and returns the function that stops it; nil if the system has nothing that it could hit.
func (p *play) begin(ctx context.Context, f fault) (end func() error, err error) {
	app := p.apps[f.App]
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
	case setPrimary:
		return func() error { return primary.restart(0) }, primary.restart(back)
	case pausePrimary:
		primary.pause()
		return func() error { primary.resume(); return nil }, nil
	case cutPrimary:
		inside := []string{primary.Name, app.Name}
		outside := append(names(without(p.servers, primary)), names(without(p.apps, app))...)
		cut, err := p.net.Cut(ctx, network.Between(inside, append(outside, network.Harness)), network.All, network.Drop)
		if err != nil {
			return nil, err
		}
		return func() error { return cut.Heal(ctx) }, nil
	case pauseApp:
		app.pause()
		p.record.note(app.Name, '(', "")
		return func() error { app.resume(); p.record.note(app.Name, ')', ""); return nil }, nil
	case setApp:
		return func() error { return app.restart(0) }, app.restart(back)
	case deploy:
		for _, a := range p.apps {
			if err := a.restart(0); err != nil {
				return nil, err
			}
		}
		return func() error { return nil }, nil
	}
	return nil, fmt.Errorf("unknown fault %q", f.Kind)
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
