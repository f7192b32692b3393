//go:build linux

package lab

import (
	"context"
	"os/exec"
	"slices"
)

// Guest is a host of a generator, a program that issues IDs without being a member. Like a member, a guest can
// be cut off, killed and paused, and its clock can be wrong. When its process exits, it stays down.
type Guest struct {
	machine
	Workload string // name of the workload whose generator runs on the host
}

// AddGuest makes a host for generators of a workload. Its address ends in 100 + number; number must be at least 1.
func (l *Lab) AddGuest(ctx context.Context, workload, name string, number int) (*Guest, error) {
	const first = 100
	host, err := l.Net.AddHost(ctx, name, first+number)
	if err != nil {
		return nil, err
	}
	g := &Guest{machine: machine{Name: name, Host: host, lab: l, generator: true}, Workload: workload}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guests = append(l.guests, g)
	return g, nil
}

// Guests returns the present hosts of generators.
func (l *Lab) Guests() []*Guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.guests)
}

// Start starts a process if none runs, and reports whether it did. command returns the process's command for the number
// of the start.
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
