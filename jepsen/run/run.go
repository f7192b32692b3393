//go:build linux

// Package run makes one run: it starts a cluster, clients and faults, and writes the history. [Do] makes a run, and
// [Build] builds the program under test.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/schedule"
	"github.com/snowraft/snowraft/jepsen/workload"
)

const (
	// warmUp is the time of load before the first fault.
	warmUp = 3 * time.Second
	// coolDown is the time of load after the last fault: the 10 s in which a cluster must recover, and a margin in which
	// the checkers see the recovery. It does not count the time for which the machine kept a member from a processor.
	coolDown = 15 * time.Second
	// harvestEvery is the interval at which each member's log is copied, before the member truncates the log's start.
	harvestEvery = 5 * time.Second
	// The settings of the cluster. Windows are short, so that many are granted and many end.
	maxWindow     = 20 * time.Second
	waitThreshold = time.Second
	maxOffset     = 500 * time.Millisecond
)

// Options are the parameters of a run.
type Options struct {
	// Dir is the directory of the run's files. It must exist and be empty, except for the programs.
	Dir string
	// Programs is the directory that Build or BuildMixed filled. Self is the path of this harness.
	Programs, Self string
	Plan           schedule.Plan
	// Script, if not nil, replaces the plan's events. It must undo its faults.
	Script *Script
	// Progress receives a line per step of the run.
	Progress io.Writer
}

// run is a run in progress.
type run struct {
	Options
	journal *history.Journal
	lab     *lab.Lab
	world   *workload.World
	loads   []workload.Workload
}

// Do makes a run and returns when the history is complete. An error means that there is no run to judge.
func Do(ctx context.Context, o Options) (err error) {
	r := &run{Options: o}
	for _, name := range o.Plan.Workloads {
		chosen, err := workload.Choose(name)
		if err != nil {
			return err
		}
		r.loads = append(r.loads, chosen...)
	}
	if r.journal, err = history.Create(o.Dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.journal.Close()) }()
	if err := r.header(ctx); err != nil {
		return err
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.lab.Close()) }()
	return r.do(ctx)
}

// header writes the first line of the history.
func (r *run) header(ctx context.Context) error {
	version, err := exec.CommandContext(ctx, program(r.Programs), "version", "-o", "json").Output()
	if err != nil {
		return fmt.Errorf("read version of program under test: %w", err)
	}
	var nemeses []string
	for _, e := range r.Plan.Events {
		if !slices.Contains(nemeses, e.Fault) {
			nemeses = append(nemeses, e.Fault)
		}
	}
	h := history.Run{
		Seed: r.Plan.Seed, Workloads: r.Plan.Workloads, Nemeses: nemeses, Binary: strings.TrimSpace(string(version)), Mutants: r.Plan.Mutants,
		WallNanos: history.Wall(), At: history.Now(),
		Rate: r.rate(), MaxWindowMillis: r.maxWindow().Milliseconds(),
		WaitThresholdMillis: r.waitThreshold().Milliseconds(), MaxOffsetMillis: maxOffset.Milliseconds(),
	}
	for i := range r.Plan.Members {
		h.Members = append(h.Members, fmt.Sprintf("n%d", i+1))
	}
	r.journal.Add(history.Line{Run: &h})
	return nil
}

// rate returns the approximate number of requests per second of each workload.
func (r *run) rate() float64 { return cmp.Or(r.Plan.Rate, schedule.DefaultRate) }

// open creates the lab with the hosts that the workloads and faults need.
func (r *run) open(ctx context.Context) (err error) {
	cfg := lab.Config{
		Dir: r.Dir, Binary: program(r.Programs), Upgrade: nextProgram(r.Programs), Members: r.Plan.Members, Journal: r.journal, Secured: r.Plan.Secured, MaxWindow: r.maxWindow(),
		Flags: []string{
			"--initial-max-window", r.maxWindow().String(), "--initial-wait-threshold", r.waitThreshold().String(), "--initial-max-clock-offset", maxOffset.String(),
			"--initial-redis-create", "strict",
		},
	}
	cfg.Flags = append(cfg.Flags, r.Plan.Flags...)
	if r.Script != nil {
		cfg.Strays, cfg.Twins = r.Script.Strays, r.Script.Twins
	}
	for _, w := range r.loads {
		cfg.Flags = append(cfg.Flags, w.Flags...)
		cfg.Spares = max(cfg.Spares, w.Spares)
	}
	for _, e := range r.Plan.Events {
		kind, err := nemesis.Named(e.Fault)
		if err != nil {
			return err
		}
		cfg.Interposed = cfg.Interposed || kind.Interposed
		cfg.Twins, cfg.Strays = max(cfg.Twins, kind.Twins), max(cfg.Strays, kind.Strays)
	}
	r.say("hosts: %d; disks through FUSE: %t", cfg.Members+cfg.Spares, cfg.Interposed)
	r.lab, err = lab.Open(ctx, cfg)
	return err
}

// do runs the phases: it starts the cluster, the load and the faults, and then completes the history.
func (r *run) do(ctx context.Context) error {
	background, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	if err := r.lab.Boot(ctx); err != nil {
		return err
	}
	failed := make(chan error, 1+len(r.loads))
	wg.Go(func() {
		if err := r.lab.Observe(background); err != nil {
			failed <- err
		}
	})
	faults := &nemesis.World{Lab: r.lab}
	if err := faults.UntilWell(ctx, r.lab.Founders()...); err != nil {
		return fmt.Errorf("start cluster: %w; see the logs in %s", err, filepath.Join(r.Dir, "logs"))
	}
	if err := r.lab.Authorize(ctx); err != nil {
		return fmt.Errorf("create tokens: %w", err)
	}
	calm := make(chan struct{})
	r.world = &workload.World{Lab: r.lab, Journal: r.journal, Dir: r.Dir, Rate: r.rate(), Self: r.Self, Calm: calm}
	defer r.world.Close() //nolint:errcheck // finish returns the error
	if err := r.prepare(ctx); err != nil {
		return err
	}
	wg.Go(func() { r.harvest(background) })

	r.phase(history.PhaseLoad)
	loading, endLoad := context.WithCancel(ctx)
	defer endLoad()
	var loads sync.WaitGroup
	for _, w := range r.loads {
		loads.Go(func() {
			if err := w.Run(loading, r.world); err != nil {
				failed <- fmt.Errorf("workload %s: %w", w.Name, err)
			}
		})
	}
	if err := r.wait(ctx, r.warmUp(), failed); err != nil {
		return err
	}
	r.phase(history.PhaseFaults)
	if err := r.play(ctx, faults, failed); err != nil {
		return err
	}
	if err := r.lab.Boot(ctx); err != nil { // starts founders that are still down
		return err
	}
	close(calm)
	r.phase(history.PhaseHealed)
	faults.Wait(ctx, r.coolDown())
	if err := r.wait(ctx, 0, failed); err != nil {
		return err
	}
	endLoad()
	loads.Wait()
	r.phase(history.PhaseEnd)
	select {
	case err := <-failed: // failure after the last wait
		return err
	default:
		return r.finish(ctx, stop, &wg)
	}
}

// prepare records the default layout and prepares the workloads.
func (r *run) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := r.world.Layout(ctx, ""); err != nil {
		return err
	}
	for _, w := range r.loads {
		if w.Prepare == nil {
			continue
		}
		if err := w.Prepare(ctx, r.world); err != nil {
			return fmt.Errorf("workload %s: %w", w.Name, err)
		}
	}
	return nil
}

// harvest copies the members' logs in turns until ctx is canceled. It runs in its own goroutine.
func (r *run) harvest(ctx context.Context) {
	tick := time.NewTicker(harvestEvery / time.Duration(len(r.lab.Members)))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m := r.lab.Members[n%len(r.lab.Members)]
		if err := m.Harvest(ctx); err != nil && ctx.Err() == nil {
			r.lab.Note(m.Name, "not-harvested", err.Error()) // perhaps during a fault of the disk
		}
	}
}

// finish stops the background goroutines and the members, copies the logs a last time and completes the history.
func (r *run) finish(ctx context.Context, stop context.CancelFunc, wg *sync.WaitGroup) error {
	stop()
	wg.Wait()
	for _, m := range r.lab.Members {
		m.Kill()
		if err := m.Harvest(ctx); err != nil {
			return fmt.Errorf("copy last log of %s: %w", m.Name, err)
		}
	}
	return r.world.Close()
}

// wait waits for d. It returns earlier with the first error of failed, or if ctx is canceled.
func (r *run) wait(ctx context.Context, d time.Duration, failed <-chan error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *run) phase(name string) {
	r.journal.Add(history.Line{Phase: &history.Phase{Name: name, At: history.Now()}})
	r.say("%s", map[string]string{
		history.PhaseLoad:   "cluster ready; starting clients",
		history.PhaseFaults: fmt.Sprintf("starting faults: %d within %v", len(r.Plan.Events), time.Duration(r.Plan.Duration)),
		history.PhaseHealed: "all faults undone",
		history.PhaseEnd:    "clients stopped",
	}[name])
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Progress, format+"\n", args...) // an error does not stop the run
}
