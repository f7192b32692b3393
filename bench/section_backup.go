package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// backups measures backups of a member that issues IDs and strict numbers, and restores of such a backup.
func backups() section {
	return section{name: "backup", title: "Backup and restore", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		file, err := e.writeBackup(largeCommands(largeWorkers, largeSequences))
		if err != nil {
			return nil, err
		}
		m, restores, err := e.restoreLarge(ctx, file, &started)
		if err != nil {
			return nil, err
		}
		callers, err := backupLoad(m.api, &started)
		if err != nil {
			return nil, err
		}
		var took samples
		var beside, without pauses
		for i := range e.rounds {
			path := filepath.Join(e.dir, fmt.Sprint("taken-", i))
			one, err := beside.during(ctx, callers, func(ctx context.Context) error {
				return e.run(ctx, "backup", path, "--addr", m.api)
			})
			if err != nil {
				return nil, err
			}
			took, file = append(took, one), path
			if _, err := without.during(ctx, callers, func(ctx context.Context) error { return pass(ctx, one) }); err != nil {
				return nil, err
			}
		}
		size, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		return backupTable(took, restores, beside, without, size.Size()), nil
	}}
}

// restoreLarge restores a backup into a new directory in each round, and starts a member with the last directory.
func (e *env) restoreLarge(ctx context.Context, file string, started *closers) (m *member, took samples, err error) {
	if m, err = e.newMember(ctx, "restored", nil); err != nil {
		return nil, nil, err
	}
	for i := range e.rounds {
		dir := m.args[slices.Index(m.args, "--data-dir")+1]
		if i < e.rounds-1 {
			if dir, err = e.temp("restored"); err != nil {
				return nil, nil, err
			}
		}
		elapsed := stopwatch()
		ended := backupEnded().UTC().Format(time.RFC3339)
		if err := e.run(ctx, "restore", file, "--data-dir", dir, "--old-ended", ended, "--old-cluster-is-gone", "--clock-checked"); err != nil {
			return nil, nil, err
		}
		took = append(took, elapsed())
	}
	if err := m.launch(e, started); err != nil {
		return nil, nil, err
	}
	if err := m.await(ctx, m.ready); err != nil {
		return nil, nil, err
	}
	return m, took, e.run(ctx, "seq", "resume", invoices, "--after", "0", "--holders-stopped", "--addr", m.api)
}

// run runs a command of the program and waits until it exits.
func (e *env) run(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, e.snowraft, args...).CombinedOutput(); err != nil { //nolint:gosec // the program of this repository
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// issuers holds the callers of one kind and the rate of their calls, which is far below the member's limit. Calls are due
// at fixed times, so that the slowest call shows the longest time without an answer.
type issuers struct {
	callers []load.Caller
	rate    float64
}

// backupLoad returns the issuers of IDs and of numbers of a strict sequence.
func backupLoad(api string, started *closers) (all [2]issuers, err error) {
	const callers = 16
	if all[0].callers, err = overOne(api, callers, started, func(conn *grpc.ClientConn) load.Caller {
		return &load.IDs{Client: snowraftv1.NewIdServiceClient(conn), Request: &snowraftv1.GenerateIdsRequest{Count: 1}, Timeout: callTimeout}
	}); err != nil {
		return all, err
	}
	all[0].rate = 1000
	all[1].callers, err = overOne(api, callers, started, func(conn *grpc.ClientConn) load.Caller {
		return &load.Next{Client: snowraftv1.NewSequenceServiceClient(conn), Request: &snowraftv1.NextNumbersRequest{Sequence: invoices, Count: 1}, Timeout: callTimeout}
	})
	all[1].rate = 200
	return all, err
}

// pauses holds the slowest call of each kind in each round.
type pauses [2]samples

// during runs do while the callers make calls, and returns the duration of do.
func (p *pauses) during(ctx context.Context, all [2]issuers, do func(context.Context) error) (took time.Duration, err error) {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	var results [2]*load.Result
	var wg sync.WaitGroup
	for i, of := range all {
		wg.Go(func() { results[i] = load.Run(run, load.Plan{Callers: of.callers, Duration: time.Hour, Rate: of.rate}) })
	}
	err = pass(ctx, 200*time.Millisecond)
	elapsed := stopwatch()
	if err == nil {
		err = do(ctx)
	}
	took = elapsed()
	err = errors.Join(err, pass(ctx, 100*time.Millisecond))
	cancel()
	wg.Wait()
	for i, r := range results {
		if len(r.Failures) > 0 {
			err = errors.Join(err, fmt.Errorf("%d calls failed: %s [%s]", r.Failed(), r.Failures[0].Example, r.Failures[0].Reason))
		}
		p[i] = append(p[i], time.Duration(r.Latency.Max()))
	}
	return took, err
}

func backupTable(took, restores samples, beside, without pauses, bytes int64) *table {
	t := &table{
		columns: []string{fmt.Sprintf("%s sequences, %s workers, one member", whole(largeSequences), whole(largeWorkers)), "median", "longest"},
		how:     fmt.Sprintf("%d turns of each kind, with a backup file of %s", len(took), with(" MB", func(x float64) string { return digits(x/1e6, 2) })(float64(bytes))),
	}
	for _, row := range []struct {
		name string
		of   samples
	}{
		{"`snowraft backup` from a member that issues IDs and numbers", took},
		{"`snowraft restore`", restores},
		{"slowest call of 1,000 `GenerateIds` per second during a backup", beside[0]},
		{"slowest call of 1,000 `GenerateIds` per second in the same time without a backup", without[0]},
		{"slowest call of 200 strict `NextNumbers` per second during a backup", beside[1]},
		{"slowest call of 200 strict `NextNumbers` per second in the same time without a backup", without[1]},
	} {
		t.rows = append(t.rows, []string{row.name, nanoseconds(row.of.percentile(50)), nanoseconds(row.of.percentile(100))})
	}
	for _, of := range []struct {
		target
		value float64
	}{
		{target{text: "a backup under 2 s", atMost: 2e9, format: nanoseconds}, took.percentile(50)},
		{target{text: "a restore under 10 s", atMost: 10e9, format: nanoseconds}, restores.percentile(50)},
		{target{text: "no pause over 10 ms in issuing IDs (longest pause)", atMost: 10e6, format: nanoseconds}, beside[0].percentile(100)},
	} {
		t.notes = append(t.notes, of.judge(of.value))
	}
	return t
}
