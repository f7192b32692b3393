//go:build linux

// Package workload is what clients do while faults happen. Each client writes down what
// it asked and what it was told, and when; it judges nothing.
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
	// About says what it does, in a few words.
	About string
	// Flags are added to "snowraft serve" of each member.
	Flags []string
	// Spares is the number of hosts without a member that it needs.
	Spares int
	// Prepare makes what the load needs, once the cluster is up; nil for nothing.
	Prepare func(ctx context.Context, w *World) error
	// Run is the load. It ends soon after ctx does. An error means that the load itself is
	// broken, not that the cluster refuses.
	Run func(ctx context.Context, w *World) error
}

// All are the workloads there are.
func All() []Workload {
	return []Workload{ids(), strict(), relaxed(), redis(), embedded(), churn(), crashloop(), admin()}
}

// special are workloads that do not go together with all others.
func special() []Workload { return []Workload{nonvoters(), removals()} }

// Choose returns the workloads of these names, separated by commas; "all" are all that go
// together.
func Choose(names string) ([]Workload, error) {
	if names == "all" {
		return All(), nil
	}
	all := slices.Concat(All(), special())
	var chosen []Workload
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no workload %q: choose of %s, or all", name, Names())
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Names lists the workloads.
func Names() string {
	var names []string
	for _, w := range slices.Concat(All(), special()) {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}

// World is what workloads have in common. Its methods may be called from any goroutine.
type World struct {
	Lab     *lab.Lab
	Journal *history.Journal
	// Dir is the run's directory.
	Dir string
	// Self is the path of this program, for workloads that are processes of their own.
	Self string
	// Calm is closed when the faults of the run are over: from then on workloads cause no
	// trouble of their own either, and only ask.
	Calm <-chan struct{}
	// Rate is the approximate number of requests per second that a workload should make.
	Rate float64

	ops, clients, sessions atomic.Uint64

	mu      sync.Mutex
	writers map[string]*history.Writer // by layout
	files   map[string]int             // how many files a layout has
}

// troubled returns a context that ends with ctx, and when the faults of the run are over.
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

// NextOp numbers an operation.
func (w *World) NextOp() uint64 { return w.ops.Add(1) }

// NextClient numbers a client.
func (w *World) NextClient() uint32 { return uint32(w.clients.Add(1)) }

// NextSession numbers a session.
func (w *World) NextSession() uint32 { return uint32(w.sessions.Add(1)) }

// IDs is the file for IDs of a layout, as this process's clients get them.
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

// IDFile numbers one more file for IDs of a layout, for another process to write.
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

// Close closes the files.
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
