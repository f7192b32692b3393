package main

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// growth is a table with one column per size of the growing quantity.
type growth struct {
	columns []string
	labels  []string
	rows    map[string][]string
}

// add adds a figure of the currently measured size.
func (g *growth) add(label string, value float64, f format) {
	if g.rows == nil {
		g.rows = map[string][]string{}
	}
	if _, ok := g.rows[label]; !ok {
		g.labels = append(g.labels, label)
	}
	g.rows[label] = append(g.rows[label], f(value))
}

func (g *growth) table(how string) *table {
	t := &table{columns: g.columns, how: how}
	for _, label := range g.labels {
		t.rows = append(t.rows, append([]string{label}, g.rows[label]...))
	}
	return t
}

// megabytes formats a number of bytes.
var megabytes = times(1e-6, with(" MB", func(x float64) string { return digits(x, 2) }))

// addState adds the figures of the state machine alone, after commands.
func (g *growth) addState(commands iter.Seq[*commandv1.Command]) error {
	before := heap()
	state, _, err := stateOf(wall(), commands)
	if err != nil {
		return err
	}
	g.add("memory of the state in each member", heap()-before, megabytes)
	var snapshot bytes.Buffer
	elapsed := stopwatch()
	if _, err := state.WriteTo(&snapshot); err != nil {
		return err
	}
	g.add("time to write a snapshot, while commands continue", float64(elapsed()), nanoseconds)
	g.add("size of a snapshot", float64(snapshot.Len()), megabytes)
	elapsed = stopwatch()
	machine := fsm.New(fsm.Options{})
	if err := machine.Restore(readCloser{&snapshot}); err != nil {
		return err
	}
	g.add("time to read a snapshot, with all checks", float64(elapsed()), nanoseconds)
	var pauses samples
	for range 5 {
		elapsed = stopwatch()
		if _, err := machine.Snapshot(); err != nil {
			return err
		}
		pauses = append(pauses, elapsed())
	}
	g.add("time that commands wait for a snapshot", pauses.percentile(50), nanoseconds)
	runtime.KeepAlive(state)
	return nil
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

// heap returns the bytes in use after a garbage collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// addStart adds the time from the start of a killed member's process until the member issues.
func (g *growth) addStart(ctx context.Context, e *env, m *member, started *closers) error {
	var took samples
	for range 3 {
		if err := m.kill(); err != nil {
			return err
		}
		elapsed := stopwatch()
		if err := m.launch(e, started); err != nil {
			return err
		}
		if err := m.await(ctx, m.ready); err != nil {
			return err
		}
		took = append(took, elapsed())
		if err := pass(ctx, time.Second); err != nil {
			return err
		}
	}
	g.add("start of a killed member, until it issues IDs", took.percentile(50), nanoseconds)
	return nil
}

// dataDir returns the member's data directory.
func (m *member) dataDir() string { return m.args[slices.Index(m.args, "--data-dir")+1] }

// onDisk returns the sizes of the member's log and of its newest snapshot.
func (m *member) onDisk() (log, snapshot float64, err error) {
	newest := time.Time{}
	err = filepath.WalkDir(m.dataDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return skipMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return skipMissing(err)
		}
		switch {
		case d.Name() == "raft.db":
			log = float64(info.Size())
		case d.Name() == "state.bin" && !strings.HasSuffix(filepath.Dir(path), ".tmp") && info.ModTime().After(newest):
			newest, snapshot = info.ModTime(), float64(info.Size())
		}
		return nil
	})
	return log, snapshot, err
}

// skipMissing returns nil for a file that was removed during the walk.
func skipMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
