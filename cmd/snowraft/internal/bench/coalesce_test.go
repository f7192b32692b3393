package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
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
		"ids --coalesce": 1, "ids --coalesce -b 300 -c 100": 300, "ids --coalesce -r 500": 1,
	} {
		var doc Report
		clitest.Decode(t, program.Succeeds(t, append([]string{"bench", "--addr", address, "-d", "500ms", "-o", "json"}, strings.Fields(line)...)...), &doc)
		if doc.Calls == 0 || doc.Numbers != batch*doc.Calls || doc.Failed != 0 || doc.Connections != 0 || doc.Check.Checked != doc.Numbers || doc.Check.Duplicates != 0 {
			t.Errorf("%s: %+v", line, doc)
		}
	}
}
