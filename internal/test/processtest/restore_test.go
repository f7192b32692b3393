//go:build process

package processtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// mustRun runs a command that must succeed, and returns its output.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := command(t, nil, args...)
	if code != 0 {
		t.Fatalf("snowraft %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// lapse is the time from a backup to the end of its cluster. It is longer than a window (3 s), so members and applications
// have acquired new windows and blocks since the backup. A longer time adds no new case. In nightly runs, the scenario
// restored-cluster of package jepsen uses 1 min.
const lapse = 4 * time.Second

// TestRestore keeps applications running while a cluster is backed up, destroyed permanently, and restored to new
// directories. No application gets an ID or a number twice, and no ID is issued before the time that restore printed.
func TestRestore(t *testing.T) {
	t.Parallel()
	restoreFrom(t, func(l *lives, addrs string) string {
		file := filepath.Join(t.TempDir(), "live.backup")
		mustRun(t, "backup", file, "--addr", addrs)
		pass(t, lapse)
		for _, m := range l.members {
			m.kill()
		}
		for _, m := range l.members {
			if err := os.RemoveAll(m.dir); err != nil {
				t.Fatal(err)
			}
		}
		return file
	})
}

// TestRecover destroys two of three directories, and restores the cluster from the third.
func TestRecover(t *testing.T) {
	t.Parallel()
	restoreFrom(t, func(l *lives, addrs string) string {
		survivor := l.members[1]
		for _, m := range l.members {
			m.kill()
			if m != survivor {
				if err := os.RemoveAll(m.dir); err != nil {
					t.Fatal(err)
				}
			}
		}
		file := filepath.Join(t.TempDir(), "survivor.backup")
		mustRun(t, "backup", file, "--data-dir", survivor.dir)
		if text := mustRun(t, "backup", "inspect", file, survivor.dir); strings.Count(text, "yes\n") != 2 {
			t.Errorf("inspect: %s", text)
		}
		return file
	})
}

// early is the greatest time by which lanes issue ahead of the clock, rounded up.
const early = 20 * time.Millisecond

// restoreFrom runs a cluster under load until destroy stops it permanently and returns a backup. It restores the backup, and
// checks all issued IDs and numbers.
func restoreFrom(t *testing.T, destroy func(l *lives, addrs string) (file string)) {
	members := newCluster(t, 3, "--initial-max-window", "3s", "--initial-redis-create", "relaxed")
	var addrs, redis []string
	for _, m := range members {
		addrs, redis = append(addrs, m.api), append(redis, freeport.Address(t))
		m.flags = append(m.flags, "--redis-addr", redis[len(redis)-1])
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	all := strings.Join(addrs, ",")
	mustRun(t, "seq", "create", "strict", "--addr", all)
	mustRun(t, "seq", "create", "relaxed", "--mode", "relaxed", "--addr", all)
	l := newLives(t, members)
	l.live("of the old cluster", redis)
	s := watchStalls(t)
	ids, numbers := l.count()
	until(t, "applications of the old cluster get IDs and numbers", func() bool {
		nowIDs, nowNumbers := l.count()
		return nowIDs > ids+1000 && nowNumbers > numbers+500 && l.highest("later") > 0
	})

	file := destroy(l, all)
	ended := time.Now().UTC()
	dir := filepath.Join(t.TempDir(), "restored")
	var said struct {
		IssuesAtMS string `json:"issuesAtMs"`
		ClusterID  string `json:"clusterId"`
	}
	text := mustRun(t, "restore", file, "--data-dir", dir, "--old-ended", ended.Format(time.RFC3339Nano), "--old-cluster-is-gone", "--clock-checked", "-o", "json")
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatal(err)
	}
	issuesAtMillis, err := strconv.ParseInt(said.IssuesAtMS, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	issuesAt := time.UnixMilli(issuesAtMillis)
	l.mu.Lock()
	l.first = time.Time{}
	l.mu.Unlock()
	l.live("of the new cluster", redis)
	for i, m := range members {
		if m.dir = dir; i > 0 {
			m.dir = filepath.Join(t.TempDir(), "joined")
		}
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	l.mu.Lock()
	first := l.first
	l.mu.Unlock()
	if late := first.Sub(issuesAt); late < -early || late > time.Duration(issuesAfterRestore)+s.between(ended, first) {
		t.Errorf("the first ID was issued %v after the time that restore printed, while this machine stalled for %v", late, s.between(ended, first))
	}
	if id := members[0].status().GetClusterId(); id != said.ClusterID {
		t.Errorf("cluster ID %s, want %s", id, said.ClusterID)
	}
	calls := []string{"--addr", all, "--timeout", patience.String()}
	// The last numbers of the applications may come from a member that died before it reported them.
	mustRun(t, append([]string{"seq", "resume", "strict", "--after", fmt.Sprint(l.highest("strict") + 100_000), "--holders-stopped"}, calls...)...)
	mustRun(t, append([]string{"seq", "resume", "--all", "--skip", "1000000"}, calls...)...)
	highest := l.highest("later")
	mustRun(t, append([]string{"config", "set", "--redis-create", "off"}, calls...)...)
	mustRun(t, append([]string{"restore", "acknowledge"}, calls...)...)
	if _, stderr, code := command(t, nil, append([]string{"seq", "create", "later", "--mode", "relaxed", "--start", fmt.Sprint(highest + 1_000_000)}, calls...)...); code != 0 && !strings.Contains(stderr, "SEQUENCE_EXISTS") {
		t.Errorf("seq create later: %s", stderr)
	}
	ids, numbers = l.count()
	until(t, "applications get IDs and numbers of all sequences", func() bool {
		nowIDs, nowNumbers := l.count()
		return nowIDs > ids+1000 && nowNumbers > numbers+500 && l.highest("later") > highest && l.highest("relaxed") > 1_000_000
	})
	members[0].untilVoters(3)
	l.stop()
	ids, numbers = l.count()
	t.Logf("%d IDs and %d numbers, all different; the first ID %v after the time that restore printed", ids, numbers, first.Sub(issuesAt).Round(time.Millisecond))
}
