package bench

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/worker"
	"github.com/snowraft/snowraft/server"
)

// startMember starts a real cluster with one member, waits until it issues IDs, and returns its API address.
func startMember(t *testing.T) string {
	t.Helper()
	cfg := server.Config{Name: "a", DataDir: t.TempDir(), BootstrapExpect: 1, Version: "v0.0.0"}
	for _, address := range []*string{&cfg.APIAddr, &cfg.HTTPAddr, &cfg.RaftAddr, &cfg.GossipAddr} {
		*address = cli.Localhost + ":0"
	}
	m, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for m.Ready() != nil {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(m.Ready())
		}
	}
	return m.APIAddr()
}

func TestBenchThroughTheGoClient(t *testing.T) {
	t.Parallel()
	address := startMember(t)
	for line, batch := range map[string]uint64{
		"embedded": 1, "embedded --lanes 3 -b 5000 -c 2": 5000, "embedded -r 500": 1,
		"ids --coalesce": 1, "ids --coalesce -b 300 -c 100": 300, "ids --coalesce -r 500": 1,
	} {
		var doc Report
		clitest.Decode(t, program.Succeeds(t, append([]string{"bench", "--addr", address, "-d", "500ms", "-o", "json"}, strings.Fields(line)...)...), &doc)
		if doc.Calls == 0 || doc.Numbers != batch*doc.Calls || doc.Failed != 0 || doc.Connections != 0 || doc.Check.Checked != doc.Numbers || doc.Check.Duplicates != 0 {
			t.Errorf("%s: %+v", line, doc)
		}
	}
	var workers struct {
		Workers []struct{ Worker, Holder, State string }
	}
	if err := json.Unmarshal([]byte(clitest.Commands{worker.New}.Succeeds(t, "worker", "list", "--addr", address, "-o", "json")), &workers); err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, w := range workers.Workers {
		if strings.HasPrefix(w.Holder, Holder) {
			ours++
			if w.State != "released" {
				t.Errorf("worker %s of %s is %s, want released", w.Worker, w.Holder, w.State)
			}
		}
	}
	if ours == 0 {
		t.Error("no worker was leased")
	}
	_, stderr, code := program.Run(t, "bench", "embedded", "--addr", address, "--layout", "nope")
	if code != cli.ExitFailed || !strings.Contains(stderr, "[UNKNOWN_LAYOUT]") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// The error for a generator without a window contains the reason.
func TestBenchEmbeddedWithoutAWindow(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t) // grants no workers
	_, stderr, code := program.Run(t, "bench", "embedded", "--addr", f.Address, "--timeout", "2s")
	if code != cli.ExitRepeatable || !strings.HasPrefix(stderr, "snowraft: the generator has no window: ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
