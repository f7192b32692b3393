// Command conformance runs one suite of scenarios against the clients of all languages. It starts members, and drives each client
// through a small program of its own; see README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	inside := sandboxed()
	code, err := run(ctx, inside, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		code = 2
	}
	if inside {
		code = exitCode(code)
	}
	os.Exit(code)
}

// run runs the suite and returns the exit code: 1 if a scenario failed. If scenarios partition the network, the suite runs again in a
// sandbox.
func run(ctx context.Context, inside bool, args []string, out io.Writer) (code int, err error) {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	clients := flags.String("clients", "go,typescript,java,python,python-aio", "clients to test, separated by commas")
	only := flags.String("only", "", "scenarios to run, separated by commas; empty: all")
	count := flags.Int("count", 10_000_000, "IDs of all clients together in the scenario together")
	processes := flags.Int("processes", 4, "processes of each client in the scenario together")
	leaks := flags.Duration("leaks", 0, "duration of the scenario leaks, at least 100 rounds; 0 omits it")
	port := flags.Int("port", 24_000, "first port of the members and of the servers of the suite")
	write := flags.String("write", "", "page whose table to write; empty: none")
	quick := flags.Bool("quick", false, "omit the scenarios that take long")
	list := flags.Bool("list", false, "list the scenarios")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	if *list {
		for _, s := range scenarios {
			fmt.Fprintf(out, "%-22s %s\n", s.name, s.about)
		}
		return 0, nil
	}
	if *write != "" && (*quick || *only != "" || os.Geteuid() != 0) {
		return 0, errors.New("--write needs all scenarios, and so root; it cannot be combined with --quick or --only")
	}
	s := &suite{out: out, count: *count, processes: *processes, leaks: *leaks, ports: &ports{next: *port}}
	if s.dir, err = os.MkdirTemp("", "conformance"); err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(s.dir) }()
	if err := s.choose(strings.Split(*clients, ","), *only, *quick); err != nil {
		return 0, err
	}
	if slices.ContainsFunc(s.scenarios, func(sc scenario) bool { return sc.partitions }) {
		if !inside {
			return inSandbox()
		}
		if s.hosts, err = newHosts(ctx); err != nil {
			return 0, err
		}
	}
	if err := s.prepare(ctx); err != nil {
		return 0, err
	}
	defer s.close()
	results, err := s.play(ctx)
	if err != nil {
		return 0, err
	}
	if *write != "" {
		if err := results.write(*write); err != nil {
			return 0, err
		}
	}
	return min(1, results.failed()), nil
}
