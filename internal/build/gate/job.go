package main

import (
	"fmt"
	"slices"
	"strings"
)

// part is a check of the gate, or of the nightly run only.
type part struct {
	name string
	// always is a part of every gate. Otherwise the gate runs the part if a path with one of the prefixes in paths changed, or if
	// the slice has the number in slice.
	always bool
	paths  []string
	slice  int
	lane   lane
	// full lists the commands of the nightly run. gate lists those of the gate, none if the slice has nothing of the part; nil means
	// the full ones.
	gate, full func(w *work) ([]command, error)
}

// lane says which other parts may run at the same time.
type lane int

const (
	computes lane = iota // uses the processors
	waits                // usually waits for members, faults and clocks
	packs                // builds the clients in their directories, in which two builds would meet
	alone                // has all processors, because its time is a promise
)

// command is a program with its arguments, and variables in the form NAME=VALUE that are added to its environment.
type command struct {
	env    []string
	args   []string
	counts bool // prints its checks in the form of "go test -json" or with lines "ok NAME"; otherwise it counts as one check
	warns  bool // a failure is a warning
}

func (c command) String() string { return strings.Join(append(slices.Clone(c.env), c.args...), " ") }

// job is a part with the commands that run now.
type job struct {
	part     part
	reason   string
	commands []command
}

// choose returns the jobs of the gate, or those of the parts of these names.
func choose(parts []part, w *work, names []string) (jobs []job, err error) {
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return nil, fmt.Errorf("no part %q; see -list", name)
		}
	}
	for _, p := range parts {
		reason := p.due(w)
		if slices.Contains(names, p.name) {
			reason = "named"
		}
		if reason == "" || len(names) > 0 && reason != "named" {
			continue
		}
		list := p.gate
		if w.nightly || list == nil {
			list = p.full
		}
		commands, err := list(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if len(commands) > 0 {
			jobs = append(jobs, job{p, reason, commands})
		}
	}
	return jobs, nil
}

// due returns the reason for which a part runs; empty if it does not run.
func (p part) due(w *work) string {
	switch {
	case w.nightly:
		return "nightly"
	case p.always:
		return "always"
	case len(p.paths) > 0 && w.changes(p.paths...):
		return "changed"
	case p.slice == w.slice:
		return fmt.Sprintf("slice %d", w.slice)
	}
	return ""
}
