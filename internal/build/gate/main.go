// Command gate judges the present commit by the parts of [table].
//
// By default it runs the short gate: the parts that every change passes, the parts that the changed paths trigger, and the
// slice of the long checks whose number is in .ci/slice. Eight pieces of work cover all slices. With -nightly it runs every
// part whole, keeps the logs, and continues after an interruption.
//
// Usage: go run ./internal/build/gate [-nightly] [-list] [-since COMMIT] [PART ...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
}

// errFailed is the result of a gate whose output has listed the failed parts.
var errFailed = errors.New("the gate is closed: parts failed")

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("gate", flag.ContinueOnError)
	nightly := flags.Bool("nightly", false, "run every part whole, and keep the logs in the directory nightly")
	list := flags.Bool("list", false, "print the parts that would run, with their commands")
	since := flags.String("since", "", "commit that changes count from (default: the last but one move of .ci/slice)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	w, err := readWork(ctx, root, *since)
	if err != nil {
		return err
	}
	w.nightly = *nightly
	jobs, err := choose(table, w, flags.Args())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "=== %s\n", w)
	if *list {
		for _, j := range jobs {
			fmt.Fprintf(out, "%s (%s)\n", j.part.name, j.reason)
			for _, c := range j.commands {
				fmt.Fprintf(out, "    %s\n", c)
			}
		}
		return nil
	}
	r := &runner{root: root, env: environment(w), out: out}
	if *nightly {
		r.logs = filepath.Join(root, "nightly", w.name())
	}
	return r.all(ctx, jobs)
}

// environment holds the variables of all parts. All parts build with the same settings, those of a release, so that they
// share one build cache. The part lint vets all packages, so tests do not.
func environment(w *work) []string {
	return append(os.Environ(),
		"CGO_ENABLED=0",
		"GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath -vet=off"),
		fmt.Sprintf("SNOWRAFT_SEED=%d", w.seed),
	)
}

// output returns what a command prints, without the space around it.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}
