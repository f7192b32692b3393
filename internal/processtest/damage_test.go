//go:build process

package processtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// damage flips one bit at each occurrence of find in a file, because unused pages may hold a copy. Without find, it flips
// a bit in the middle of the file.
func damage(t *testing.T, path string, find []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for at := 0; len(find) > 0; flipped++ {
		i := bytes.Index(raw[at:], find)
		if i < 0 {
			break
		}
		raw[at+i] ^= 0x40
		at += i + len(find)
	}
	if len(find) == 0 {
		raw[len(raw)/2] ^= 0x40
	} else if flipped == 0 {
		t.Fatalf("%s does not contain %s", path, find)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// replaced starts a damaged member, which must halt, and then follows the advice in its error.
func replaced(t *testing.T, ledger *ledger, members []*member, m *member, what string) {
	t.Helper()
	rest := others(members, m)
	old := listed(t, rest[0], m.name).GetId()
	m.start()
	code := m.exit()
	text := m.stderr.tail(1)
	for _, want := range []string{what, "is damaged", "start again with an empty one", "snowraft member remove"} {
		if code != 1 || !strings.Contains(text, want) {
			t.Errorf("the damaged member exited with code %d, want code 1 and %q: %s", code, want, text)
		}
	}
	for _, o := range rest {
		ledger.mustAsk(o, 100)
	}
	if _, stderr, code := command(t, at(rest[0]), "member", "remove", old); code != 0 {
		t.Errorf("member remove: %s", stderr)
	}
	if err := os.Rename(m.dir, m.dir+".damaged"); err != nil {
		t.Fatal(err)
	}
	m.flags = []string{"--join", seeds(rest...)}
	m.start().untilIssues()
	for _, o := range members {
		o.untilVoters(len(members))
		ledger.mustAsk(o, 100)
	}
	ledger.checkUnique(t)
	ledger.lanes(t, rest[0])
}

func TestDamagedLogEntry(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	m := others(members, leader(t, members))[0]
	ledger := newLedger()
	ledger.mustAsk(m, 100)
	m.kill()
	// The holder's name is in the command that granted its worker.
	damage(t, filepath.Join(m.dir, "raft.db"), []byte(m.name+"/0"))
	replaced(t, ledger, members, m, "raft.db")
}

// TestDamagedSnapshot makes the log so long that the members take a snapshot.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	lead := leader(t, members)
	m := others(members, lead)[0]
	ledger := newLedger()
	ledger.mustAsk(m, 100)
	longLog(t, lead, 5000)
	var state string
	until(t, "all members have a snapshot", func() bool {
		for _, o := range members {
			found, err := filepath.Glob(filepath.Join(o.dir, "snapshots", "*-*", "state.bin"))
			if err != nil || len(found) == 0 || strings.Contains(found[0], ".tmp") {
				return false
			}
			if o == m {
				state = found[0]
			}
		}
		return true
	})
	m.kill()
	damage(t, state, nil)
	// The replacement gets its state from a snapshot, because the log now begins later.
	replaced(t, ledger, members, m, "snapshots")
}

// longLog makes the log at least entries long. It ignores failed changes, because
// many concurrent changes may depose a leader on a slow machine.
func longLog(t *testing.T, askAt *member, entries uint64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = askAt.cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{WaitThresholdMs: new(int64(1000))}})
			}
		})
	}
	until(t, "the log is long", func() bool { return askAt.status().GetCommitIndex() >= entries })
	cancel()
	wg.Wait()
}
