//go:build linux

package lab

import (
	"context"
	"os/exec"
	"slices"
)

// Guest is a host of an embedded generator: a program that is not a member and issues IDs. It
// can be cut off, killed, paused, and have a clock that is off, as members can. When its process
// ends, it stays down.
type Guest struct{ machine }

// AddGuest makes a host for generators. number, from 1 on, is what its address ends in,
// beyond those of members.
func (l *Lab) AddGuest(ctx context.Context, name string, number int) (*Guest, error) {
	const first = 100
	host, err := l.Net.AddHost(ctx, name, first+number)
	if err != nil {
		return nil, err
	}
	g := &Guest{machine{Name: name, Host: host, lab: l, generator: true}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guests = append(l.guests, g)
	return g, nil
}

// Guests are the hosts of generators, as many as there are yet.
func (l *Lab) Guests() []*Guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.guests)
}

// Start starts a process, if none runs: the command that make returns for the number of its
// start. It reports whether it did.
func (g *Guest) Start(command func(start uint32) *exec.Cmd) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Running() {
		return false, nil
	}
	start := g.lab.NextStart()
	if err := g.run(start, command(start), func() {}); err != nil {
		return false, err
	}
	return true, nil
}
