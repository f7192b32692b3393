//go:build linux

// Package workload runs the clients of a chaos run. Each client records its requests, the
// answers and their times, and judges nothing. A [Workload] is a kind of load; all workloads of
// a run share a [World].
package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
)

// Workload is one kind of load.
type Workload struct {
	Name string
	// About is a short description.
	About string
	// Flags are added to "snowraft serve" of each member.
	Flags []string
	// Spares is the number of hosts without a member that the workload needs.
	Spares int
	// Prepare creates sequences and layouts for the load once the cluster is up; may be nil.
	Prepare func(ctx context.Context, w *World) error
	// Run runs the load and returns soon after ctx is done. An error means that the load
	// itself is broken, not that the cluster rejects requests.
	Run func(ctx context.Context, w *World) error
}

// All returns the workloads that can run together.
func All() []Workload {
	return []Workload{ids(), strict(), relaxed(), redis(), embedded(), wrapped(), churn(), crashloop(), admin(), documents()}
}

// special returns the workloads that cannot run together with all others.
func special() []Workload { return []Workload{nonvoters(), removals()} }

// Choose returns the workloads of these names, separated by commas; "all" selects those of
// All.
func Choose(names string) ([]Workload, error) {
	if names == "all" {
		return All(), nil
	}
	all := slices.Concat(All(), special())
	var chosen []Workload
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown workload %q; choose from %s, or all", name, Names())
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Names returns the names of all workloads, separated by commas.
func Names() string {
	var names []string
	for _, w := range slices.Concat(All(), special()) {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}

// World is the common environment of workloads. Its methods may be called from any goroutine.
type World struct {
	Lab     *lab.Lab
	Journal *history.Journal
	// Dir is the run's directory.
	Dir string
	// Self is the path of this program, for workloads in separate processes.
	Self string
	// Calm is closed when the faults of the run are over. Then workloads also stop their
	// own faults and changes of the cluster, and only send requests.
	Calm <-chan struct{}
	// Rate is the approximate number of requests per second that a workload should make.
	Rate float64

	ops, clients, sessions atomic.Uint64

	mu      sync.Mutex
	writers map[string]*history.Writer // keys: layouts
	files   map[string]int             // counts of files; keys: layouts
}

// troubled returns a context that is canceled with ctx and when the faults of the run are over.
func (w *World) troubled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-w.Calm:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// NextOp returns the ID of a new operation.
func (w *World) NextOp() uint64 { return w.ops.Add(1) }

// NextClient returns the number of a new client.
func (w *World) NextClient() uint32 { return uint32(w.clients.Add(1)) }

// NextSession returns the number of a new session.
func (w *World) NextSession() uint32 { return uint32(w.sessions.Add(1)) }

// IDs returns the file for IDs of a layout that this process's clients receive.
func (w *World) IDs(layout string) (*history.Writer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.writers[layout]; f != nil {
		return f, nil
	}
	f, err := history.CreateIDs(w.Dir, layout, w.number(layout))
	if err != nil {
		return nil, err
	}
	if w.writers == nil {
		w.writers = make(map[string]*history.Writer)
	}
	w.writers[layout] = f
	return f, nil
}

// IDFile returns the index of a new file for IDs of a layout, which another process writes.
func (w *World) IDFile(layout string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.number(layout)
}

func (w *World) number(layout string) int {
	if w.files == nil {
		w.files = make(map[string]int)
	}
	w.files[layout]++
	return w.files[layout]
}

// Close closes the files of IDs.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.writers {
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
