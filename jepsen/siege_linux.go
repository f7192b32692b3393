package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/run"
	"github.com/snowraft/snowraft/jepsen/sandbox"
	"github.com/snowraft/snowraft/jepsen/schedule"
	"github.com/snowraft/snowraft/jepsen/workload"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// siegePhase is the length of a turn of calm or hostile traffic.
	siegePhase = 10 * time.Second
	// siegeClients are the clients of each member, one call after the other.
	siegeClients = 4
	// leastShare is the share of the calm rate that clients have to keep, in percent.
	leastShare = 80
)

// siegeFlags are the flags of the measurement.
type siegeFlags struct {
	duration time.Duration
	secured  bool
	out      string
}

func siegeCommand() *cobra.Command {
	var f siegeFlags
	c := &cobra.Command{
		Use:   "siege",
		Short: "Measure what hostile traffic costs clients",
		Long: `Lets clients call a cluster of three at full rate, with and without hostile traffic in
turns of ten seconds. It fails if a call failed, or if the rate with hostile traffic is
below 80 % of the rate without.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			inside := sandbox.Inside()
			err := inSandbox(cmd.Context(), f.prepare, func(ctx context.Context) error { return f.measure(ctx, cmd.OutOrStdout()) })
			if !inside && f.out != "" {
				err = errors.Join(err, os.RemoveAll(programs(f.out)))
			}
			return err
		},
	}
	c.Flags().DurationVar(&f.duration, "duration", 10*time.Minute, "how long to measure")
	c.Flags().BoolVar(&f.secured, "secure", false, "give members a secret, and clients a token")
	c.Flags().StringVar(&f.out, "out", "", "the `DIR` that the run goes to, which must not exist (default the first free one of jepsen-runs/siege, siege.1, ...)")
	return c
}

func (f *siegeFlags) prepare(ctx context.Context) (err error) {
	if f.out, err = makeDirectory(f.out, "siege"); err != nil {
		return err
	}
	if err := os.Setenv(directory, f.out); err != nil {
		return err
	}
	return run.Build(ctx, programs(f.out))
}

// measure makes the run, in the sandbox.
func (f *siegeFlags) measure(ctx context.Context, out io.Writer) error {
	dir := os.Getenv(directory)
	if err := checkMachine(ctx); err != nil {
		return err
	}
	release, err := hold(dir)
	if err != nil {
		return err
	}
	defer release()
	s := siege{rounds: max(1, int(f.duration/(2*siegePhase)))}
	err = run.Do(ctx, run.Options{
		Dir: dir, Programs: programs(dir), Plan: schedule.Plan{Header: schedule.Header{Members: 3, Secured: f.secured, Duration: schedule.Duration(f.duration)}},
		Script: &run.Script{Play: s.play}, Progress: io.Discard,
	})
	if err != nil {
		return err
	}
	return s.verdict(out)
}

// tally counts the calls that began and ended in phases of one kind.
type tally struct{ done, failed atomic.Uint64 }

type siege struct {
	rounds        int
	calm, hostile tally
	now           atomic.Pointer[tally]
	first         atomic.Pointer[string] // failure
}

func (s *siege) play(ctx context.Context, w *workload.World) error {
	s.now.Store(&tally{}) // of what is before the first phase
	hostile, err := nemesis.Named("hostile")
	if err != nil {
		return err
	}
	conns := make(map[*lab.Member]*grpc.ClientConn)
	for _, m := range w.Lab.Founders() {
		conn, err := w.Lab.Connect(m)
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // no call is open
		conns[m] = conn
	}
	calling, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for m, conn := range conns {
		for range siegeClients {
			wg.Go(func() { s.calls(calling, m, snowraftv1.NewIdServiceClient(conn)) })
		}
	}
	history.Sleep(ctx, time.Second)
	for round := range s.rounds {
		s.now.Store(&s.calm)
		history.Sleep(ctx, siegePhase)
		s.now.Store(&tally{})
		made, err := hostile.Begin(ctx, &nemesis.World{Lab: w.Lab}, schedule.Event{On: nemesis.All, Seed: uint64(round)})
		if err != nil {
			return err
		}
		s.now.Store(&s.hostile)
		history.Sleep(ctx, siegePhase)
		s.now.Store(&tally{})
		if err := made.Undo(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// calls makes one call after the other until ctx ends.
func (s *siege) calls(ctx context.Context, m *lab.Member, ids snowraftv1.IdServiceClient) {
	for ctx.Err() == nil {
		phase := s.now.Load()
		_, err := ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 100})
		if phase != s.now.Load() || ctx.Err() != nil {
			continue
		}
		if err != nil {
			text := m.Name + ": " + err.Error()
			s.first.CompareAndSwap(nil, &text)
			phase.failed.Add(1)
			continue
		}
		phase.done.Add(1)
	}
}

// verdict prints what was measured, and fails if it is not what it has to be.
func (s *siege) verdict(out io.Writer) error {
	calm, hostile := s.calm.done.Load(), s.hostile.done.Load()
	failed := s.calm.failed.Load() + s.hostile.failed.Load()
	seconds := float64(s.rounds) * siegePhase.Seconds()
	share := 100 * float64(hostile) / float64(max(1, calm))
	_, _ = fmt.Fprintf(out, "calls a second: %.0f without hostile traffic, %.0f with it (%.0f %%, at least %d %% are expected); failed: %d\n",
		float64(calm)/seconds, float64(hostile)/seconds, share, leastShare, failed)
	if first := s.first.Load(); first != nil {
		_, _ = fmt.Fprintln(out, "the first failure:", *first)
	}
	if failed > 0 || share < leastShare {
		_, _ = fmt.Fprintln(out, "FAIL")
		return exitStatus(exitFail)
	}
	_, _ = fmt.Fprintln(out, "PASS")
	return nil
}
