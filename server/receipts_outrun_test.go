package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/server/frontend"
)

// absence is a network that a client leaves while it is away.
type absence struct {
	frontend.Network
	away atomic.Bool
}

func (a *absence) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if a.away.Load() {
		return nil, errors.New("the client is away")
	}
	return a.Network.DialContext(ctx, network, address)
}

// TestAbsentClientSealsALongerHistory sets back two of three members, and the third one never returns. Their second history
// grows until the point where it branched off is compacted away. A client that was absent throughout seals it.
func TestAbsentClientSealsALongerHistory(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		text, _ := s.token("client", "ids:issue:default")
		back := []*history{copies(t, s.nodes[:1]), copies(t, s.nodes[1:2])}
		in := &absence{Network: networkOf(t)}
		c := goClientIn(in, t, text, back[0].node)
		use(t, c, 5*time.Second)
		in.away.Store(true)
		for _, n := range s.nodes {
			n.crash()
		}
		for _, h := range back {
			h.cfg.DataDir = h.before
			h.start()
		}
		l := leader(t, s.nodes)
		branched := l.server.Member().Node().LastIndex()
		l.commit(int64(depth.Of(7000, 20_000)))
		const kept = 2048 // behind a snapshot, which comes after 4096
		until(t, "the log is compacted", func() bool { return l.snapshotIndex() > branched+kept })
		for _, h := range back { // they read the history from their snapshots
			h.crash()
			h.start().untilReady()
		}
		if back[0].sealed() || back[1].sealed() {
			t.Fatal("sealed before the client returned")
		}
		in.away.Store(false)
		began := time.Now()
		for _, h := range back {
			until(t, h.cfg.Name+" is sealed", func() bool {
				_, _ = c.NextID(t.Context())
				return h.sealed()
			})
		}
		t.Logf("sealed after %v: %v", time.Since(began), back[0].server.Member().State().Sealed().GetReason())
		until(t, "the client hears it", func() bool {
			_, err := c.NextID(t.Context())
			return reason(err) == rpc.SetBack
		})
	})
}

// commit makes the leader commit a number of commands, many at once.
func (n *node) commit(commands int64) {
	n.t.Helper()
	var done atomic.Int64
	var proposers sync.WaitGroup
	for range 64 {
		proposers.Go(func() {
			for done.Add(1) <= commands {
				if _, err := n.server.Member().ObserveClock(n.t.Context(), false); err != nil {
					n.t.Error(err)
					return
				}
			}
		})
	}
	proposers.Wait()
}

// snapshotIndex returns the index of the newest snapshot, 0 if there is none.
func (n *node) snapshotIndex() (newest uint64) {
	n.t.Helper()
	entries, err := os.ReadDir(filepath.Join(n.cfg.DataDir, "snapshots"))
	if err != nil {
		n.t.Fatal(err)
	}
	for _, e := range entries {
		var term, index, ms uint64
		if filepath.Ext(e.Name()) == "" {
			if _, err := fmt.Sscanf(e.Name(), "%d-%d-%d", &term, &index, &ms); err != nil {
				n.t.Fatal(err)
			}
			newest = max(newest, index)
		}
	}
	return newest
}
