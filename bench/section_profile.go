package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snowraft/snowraft/internal/load"
)

// serving is a profiled server.
type serving struct {
	*child
	profile string
	callers []load.Caller
	calls   uint64
	times   map[string]float64 // ms; keyed by part
}

// profile measures the parts of the time of unary calls, in the server of an empty method and in a
// member. Each is the test program of the package server, in a process of its own.
func profile() section {
	return section{name: "profile", title: "Processor time of a unary call", measure: func(ctx context.Context, e *env) (t *table, err error) {
		dir, err := e.temp("profile")
		if err != nil {
			return nil, err
		}
		program := filepath.Join(dir, "server.test")
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./server") //nolint:gosec // the path is made here
		build.Dir = e.root
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		var started closers
		defer started.close(&err)
		servers, err := e.startServing(program, dir, &started)
		if err != nil {
			return nil, err
		}
		if err := e.exercise(ctx, servers); err != nil {
			return nil, err
		}
		for _, s := range servers {
			if err := s.stop(); err != nil { // writes the profile
				return nil, err
			}
			s.done <- nil // lets the stop at the end return
			if s.times, err = profiled(ctx, program, s.profile); err != nil {
				return nil, err
			}
		}
		return profileTable(servers[0], servers[1]), nil
	}}
}

// startServing starts the server of an empty method and a member.
func (e *env) startServing(program, dir string, started *closers) (servers []*serving, err error) {
	for _, name := range []string{"empty", "member"} {
		s := &serving{profile: filepath.Join(dir, name+".out")}
		address := ""
		s.child, err = e.start(name, []string{"SNOWRAFT_SERVING=1"}, func(line string) bool {
			_, address, _ = strings.Cut(line, "serving at ")
			return address == ""
		}, program, "-test.run", "^$", "-test.bench", "^BenchmarkServing$/^"+name+"$", "-test.benchtime", "1x", "-test.timeout", "0", "-test.cpuprofile", s.profile)
		if err != nil {
			return servers, err
		}
		started.add(s.stop)
		servers = append(servers, s)
		if address == "" {
			return servers, fmt.Errorf("the benchmark Serving/%s does not say where it serves", name)
		}
		if s.callers, err = oneByOne(address, 64, started); err != nil {
			return servers, err
		}
	}
	return servers, nil
}

// fewestProfiled is the least number of calls per server that surely give a profile: they take about 0.4 s of a processor, of which
// the profile has a sample every 10 ms.
const fewestProfiled = 20_000

// exercise calls the servers in turns, and in more turns than the flags say if a busy machine made few calls.
func (e *env) exercise(ctx context.Context, servers []*serving) error {
	few := func(s *serving) bool { return s.calls < fewestProfiled }
	for round := 0; round < e.rounds || slices.ContainsFunc(servers, few) && ctx.Err() == nil; round++ {
		for _, s := range servers {
			r := load.Run(ctx, load.Plan{Callers: s.callers, Duration: e.duration})
			if len(r.Failures) > 0 {
				return fmt.Errorf("%d calls failed: %s", r.Failed(), r.Failures[0].Example)
			}
			s.calls += r.Calls
		}
	}
	return ctx.Err()
}

func profileTable(empty, member *serving) *table {
	t := &table{
		columns: []string{"processor time of the server per call", "an empty gRPC method", "share", "`GenerateIds` in a member", "share"},
		how:     fmt.Sprintf("CPU profiles of %s calls of the empty method and %s calls of `GenerateIds`, from 64 callers in another process", amount(float64(empty.calls)), amount(float64(member.calls))),
	}
	row := func(name string, of func(*serving) float64) {
		cells := []string{name}
		for _, s := range []*serving{empty, member} {
			share := of(s) / s.total()
			cells = append(cells, nanoseconds(1e6*of(s)/float64(max(1, s.calls))), digits(100*share, 2)+" %")
		}
		t.rows = append(t.rows, cells)
	}
	for _, part := range parts {
		row(part, func(s *serving) float64 { return s.times[part] })
	}
	row("total", (*serving).total)
	return t
}

func (s *serving) total() (ms float64) {
	for _, took := range s.times {
		ms += took
	}
	return ms
}
