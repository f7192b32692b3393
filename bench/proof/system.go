//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
)

// A system gives numbers to applications: a row of the table.
type system struct {
	name     string // also of its files
	title    string
	settings string // differences from the defaults
	twins    bool   // the containers of its applications have equal MAC addresses
	pauses   bool   // meets the faults of [pausing] instead of those of [plan]
	version  func(ctx context.Context) (string, error)
	// start starts the servers and returns the program of each application.
	start func(ctx context.Context, p *play) (command func(app int) *spec, err error)
}

// systems lists all systems in the order of the table.
func systems(o options) []system {
	var all []system
	for _, some := range [][]system{redisSystems(), postgresSystems(), mariadbSystems(), etcdSystems(), goLibraries(), javaLibraries(o), snowraftSystems(o), pausingSystems(o)} {
		all = append(all, some...)
	}
	return all
}

// course returns the faults of a seed.
func (s system) course(seed uint64) course {
	if s.pauses {
		return pausing(seed)
	}
	return plan(seed)
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
