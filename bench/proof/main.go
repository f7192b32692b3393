//go:build linux

// Command proof counts the numbers that come twice: it runs the systems that people take numbers from, and Snowraft, through
// the same faults, driven by their own clients.
//
//	make proof SEEDS=1-10
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
	seeds    []uint64
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
	return outside(ctx, o, out)
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
	seeds := flags.String("seeds", "1", "seeds of the faults: one, or a range such as 1-10")
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
	var err error
	if o.seeds, err = parseSeeds(*seeds); err != nil {
		return o, err
	}
	if o.root, err = filepath.Abs(o.root); err != nil {
		return o, err
	}
	if o.snowraft == "" {
		o.snowraft = filepath.Join(o.root, "bin", "snowraft")
	}
	return o, nil
}

// parseSeeds returns the seeds of a text such as 1 or 1-10, at most 1,000.
func parseSeeds(text string) ([]uint64, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 32)
	to, err2 := strconv.ParseUint(last, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("--seeds: %w", err)
	}
	if from > to || to-from >= 1000 {
		return nil, fmt.Errorf("--seeds %s: no range of at most 1,000 seeds", text)
	}
	var all []uint64
	for seed := from; seed <= to; seed++ {
		all = append(all, seed)
	}
	return all, nil
}

// raw returns the path of the raw file of a run, and outcome that of its outcome.
func (o options) raw(seed uint64, s system) string {
	return filepath.Join(o.out, strconv.FormatUint(seed, 10), s.name+".tsv")
}

func (o options) outcome(seed uint64, s system) string {
	return strings.TrimSuffix(o.raw(seed, s), ".tsv") + ".json"
}

// outside runs what is missing, each run in a sandbox: itself if it is only one, otherwise in a process for each.
func outside(ctx context.Context, o options, out io.Writer) error {
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	runs, err := missing(ctx, o, chosen, out)
	if err != nil {
		return err
	}
	if len(runs) == 1 && len(chosen) == 1 && len(o.seeds) == 1 {
		code, err := sandbox.Run(self)
		if err == nil && code != 0 {
			err = errors.New(o.only + " has no outcome")
		}
		return err
	}
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	free := make(chan struct{}, max(1, o.at))
	for _, r := range runs {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-free }()
			cmd := exec.CommandContext(ctx, self, "--seeds", strconv.FormatUint(r.seed, 10), "--only", r.name, "--out", o.out, "--root", o.root, "--snowraft", o.snowraft)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			if err := cmd.Run(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, fmt.Errorf("seed %d, %s: %w", r.seed, r.name, err))
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
	s, seed := chosen[0], o.seeds[0]
	raw, path := o.raw(seed, s), o.outcome(seed, s)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path)); err != nil {
		return err
	}
	version, err := s.version(ctx)
	if err != nil {
		return err
	}
	result, err := perform(ctx, s, s.trial.course(seed), raw)
	if err != nil {
		return err
	}
	result.Version, result.Settings, result.Seed = version, s.settings, seed
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "seed %d, %s %s: %d calls, %d failed, longest interruption %.1f s, %d duplicates (prepared in %.0f s, processor time %.0f s)\n",
		seed, s.name, version, result.Calls, result.Failed, result.Longest.Seconds(), result.Duplicates, result.Prepared.Seconds(), result.Processor.Seconds())
	return err
}
