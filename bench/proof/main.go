//go:build linux

// Command proof counts the numbers that come twice: it runs the systems that people take numbers from, and Snowraft, through
// the same faults, driven by their own clients.
//
//	make proof SEED=1
//
// Each run of a system has a sandbox of its own: hosts with networks, clocks and processes. Its raw file has every answer of
// every call, and every fault; recount.sh counts the duplicates of a raw file again.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/snowraft/snowraft/jepsen/sandbox"
)

// options are the flags of the program.
type options struct {
	seed     uint64
	only     string // names of systems, with commas between them; empty for all
	out      string // folder of the raw files
	root     string // folder of the repository
	snowraft string // program of the members
	at       int    // systems that run at the same time
}

// drivers are the applications that are this program, by name.
var drivers = map[string]func(args []string) (source, error){
	"redis":              driveRedis(false),
	"redis-wait":         driveRedis(true),
	"postgres":           drivePostgres,
	"leaf":               driveLeaf,
	"etcd":               driveEtcd,
	"sonyflake":          driveSonyflake,
	"bwmarrin":           driveBwmarrin,
	"uuid7":              driveUUID,
	"snowraft":           taking(driveIDs),
	"snowraft-generator": taking(driveGenerator),
	"snowraft-strict":    taking(driveStrict),
	"snowraft-redis":     driveSnowraftRedis,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, contained := 0, sandbox.Inside()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		code = 1
	}
	if contained {
		code = sandbox.Said(code)
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 1 && args[0] == "drive" {
		return driveAs(ctx, args[1], args[2:])
	}
	writing := len(args) > 0 && args[0] == "document"
	if writing {
		args = args[1:]
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	switch {
	case writing:
		return document(o, out)
	case sandbox.Inside():
		return inside(ctx, o, out)
	}
	return outside(ctx, o)
}

// driveAs is the application of this name.
func driveAs(ctx context.Context, name string, args []string) error {
	open, found := drivers[name]
	if !found {
		return fmt.Errorf("unknown driver %q", name)
	}
	next, err := open(args)
	if err != nil {
		return err
	}
	return drive(ctx, next)
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("proof", flag.ContinueOnError)
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the faults")
	flags.StringVar(&o.only, "only", "", "names of systems, with commas between them (default all)")
	flags.StringVar(&o.out, "out", "", "folder for raw files and outcomes (required)")
	flags.StringVar(&o.root, "root", "..", "folder of the repository")
	flags.StringVar(&o.snowraft, "snowraft", "", "program of the members (default bin/snowraft)")
	flags.IntVar(&o.at, "at-once", 2, "number of systems that run at the same time")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.out == "" || flags.NArg() > 0 {
		return o, errors.New("usage: proof [document] --out FOLDER [flags]")
	}
	root, err := filepath.Abs(o.root)
	o.root = root
	if o.snowraft == "" {
		o.snowraft = filepath.Join(root, "bin", "snowraft")
	}
	return o, err
}

// folder returns the folder of the files of this seed.
func (o options) folder() string { return filepath.Join(o.out, strconv.FormatUint(o.seed, 10)) }

// outside runs each chosen system in a sandbox: itself if it is only one, otherwise in a process for each.
func outside(ctx context.Context, o options) error {
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	if len(chosen) == 1 {
		code, err := sandbox.Run(self)
		if err == nil && code != 0 {
			err = errors.New(chosen[0].name + " has no outcome")
		}
		return err
	}
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	free := make(chan struct{}, max(1, o.at))
	for _, s := range chosen {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-free }()
			cmd := exec.CommandContext(ctx, self, "--seed", strconv.FormatUint(o.seed, 10), "--only", s.name, "--out", o.out, "--root", o.root, "--snowraft", o.snowraft)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			if err := cmd.Run(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
			}
		})
	}
	wait.Wait()
	return errors.Join(failed, ctx.Err())
}

// choose returns the systems that --only names.
func choose(o options) ([]system, error) {
	all := systems(o)
	if o.only == "" {
		return all, nil
	}
	var chosen []system
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(all, func(s system) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown system %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// inside runs the system that --only names.
func inside(ctx context.Context, o options, out io.Writer) error {
	if err := sandbox.Settle(); err != nil {
		return err
	}
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	s := chosen[0]
	path := filepath.Join(o.folder(), s.name+".json")
	if err := errors.Join(os.MkdirAll(o.folder(), 0o755), os.RemoveAll(path)); err != nil {
		return err
	}
	version, err := s.version(ctx)
	if err != nil {
		return err
	}
	result, err := perform(ctx, s, s.course(o.seed), filepath.Join(o.folder(), s.name+".tsv"))
	if err != nil {
		return err
	}
	result.Version, result.Seed = version, o.seed
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "seed %d, %s %s: %d calls, %d failed, longest interruption %.1f s, %d duplicates\n",
		o.seed, s.name, version, result.Calls, result.Failed, result.Longest.Seconds(), result.Duplicates)
	return err
}
