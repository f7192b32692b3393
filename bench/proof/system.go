//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
)

// A system gives numbers to applications: a row of the table.
type system struct {
	name     string // also of its files
	title    string
	settings string // differences from the defaults
	twins    bool   // the containers of its applications have equal MAC addresses
	alone    bool   // has no servers: the faults of the primary do not meet it
	trial    *trial
	version  func(ctx context.Context) (string, error)
	// start starts the servers and returns the program of each application.
	start func(ctx context.Context, p *play) (command func(app int) *spec, err error)
}

// systems lists all systems in the order of the tables.
func systems(o options) []system {
	usual := slices.Concat(redisSystems(), postgresSystems(), mariadbSystems(), etcdSystems(), goLibraries(), javaLibraries(o), snowraftSystems(o))
	var all []system
	for _, part := range []struct {
		trial   *trial
		systems []system
	}{{sevenFaults, usual}, {longPause, pausingSystems(o)}, {hourBack, hourSystems(usual)}} {
		for _, s := range part.systems {
			s.trial = part.trial
			all = append(all, s)
		}
	}
	return all
}

// self is the path of this program, which Linux always knows.
var self, _ = os.Executable()

// driver returns an application that is this program.
func driver(args ...string) *spec {
	return &spec{path: self, args: append([]string{"drive"}, args...)}
}

// number matches a version that a program prints.
var number = regexp.MustCompile(`\d+\.\d+[\w.+-]*|[0-9a-f]{8}\S*|devel`)

// output returns a function that runs a program and returns the version that it prints.
func output(path string, args ...string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		text, err := exec.CommandContext(ctx, path, args...).Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		return string(number.Find(text)), nil
	}
}
