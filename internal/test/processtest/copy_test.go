//go:build process

package processtest

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// copyOf describes a member with a copy of the data directory of m, which must not be running.
func copyOf(t *testing.T, m *member, name string) *member {
	t.Helper()
	twin := newMember(t, name, m.flags...)
	if err := os.CopyFS(twin.dir, os.DirFS(m.dir)); err != nil {
		t.Fatal(err)
	}
	return twin
}

// TestCopiedDataDirectory runs a copy of a follower's directory, and a copy of the leader's, while the original runs. The copy
// halts and reports the reason. The original remains a member and keeps issuing, and another member logs the refused copy.
func TestCopiedDataDirectory(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"follower", "leader"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			var flags []string
			if which == "leader" {
				flags = secretFile(t)
			}
			members := startCluster(t, 3, flags...)
			original := others(members, leader(t, members))[0]
			original.stop()
			twin := copyOf(t, original, original.name)
			original.start().untilIssues()
			if which == "leader" {
				until(t, "the original leads", func() bool {
					_, _ = members[0].cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{Member: original.name})
					return leader(t, members) == original
				})
			}
			began, unchanged := original.began, steady(t, members)
			ledger := newLedger()
			for range 3 { // like a supervisor
				twin.start()
				if code := twin.exit(); code != 1 {
					t.Errorf("exit code %d, want 1", code)
				}
				text := twin.stderr.tail(1)
				for _, want := range []string{"another process has the identity of this member", original.raft, twin.dir, "was copied", "Delete the copy"} {
					if !strings.Contains(text, want) {
						t.Errorf("the copy says %q, which lacks %q", text, want)
					}
				}
				for _, m := range members {
					ledger.mustAsk(m, 100)
				}
			}
			named := 0
			for _, m := range members {
				named += strings.Count(m.stderr.String(), "second process of a member rejected")
			}
			if named == 0 {
				t.Error("no member logs that it refused the copy")
			}
			unchanged()
			if original.began != began || !original.running() {
				t.Error("the original exited")
			}
			for _, m := range members[0].list() {
				if m.GetName() == original.name && m.GetRaftAddress() != original.raft {
					t.Errorf("the original is listed at %s, want %s", m.GetRaftAddress(), original.raft)
				}
			}
			ledger.checkUnique(t)
			ledger.lanes(t, members[0])
		})
	}
}

// TestMovedDataDirectory moves a member by copying its directory, and starts the original again by mistake. The original is then
// the later process. It returns after the other process has stopped.
func TestMovedDataDirectory(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	original := others(members, leader(t, members))[0]
	rest := others(members, original)
	original.kill()
	moved := copyOf(t, original, original.name)
	moved.start().untilIssues()
	if address := listed(t, rest[0], original.name).GetRaftAddress(); address != moved.raft {
		t.Errorf("the member is listed at %s, want %s", address, moved.raft)
	}
	original.start()
	if code, text := original.exit(), original.stderr.tail(1); code != 1 || !strings.Contains(text, moved.raft) || !strings.Contains(text, "was copied") {
		t.Errorf("exit code %d: %s", code, text)
	}
	moved.untilIssues()
	moved.kill()
	original.start().untilIssues()
	rest[0].untilVoters(3)
}

// TestRestartsAreNoCopies repeatedly kills and restarts members immediately, one of them also at other addresses, and pauses
// them. No member halts.
func TestRestartsAreNoCopies(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	for i := range 12 {
		m := members[i%3]
		m.kill()
		if i%6 == 3 {
			m.raft, m.gossip = freeport.Address(t), freeport.Address(t)
		}
		m.start().untilIssues()
	}
	for _, m := range members {
		m.signal(syscall.SIGSTOP)
		pass(t, 3*time.Second)
		m.signal(syscall.SIGCONT)
		m.untilIssues()
	}
	for _, m := range members {
		m.untilIssues()
		m.untilVoters(3)
		if text := m.stderr.String(); strings.Contains(text, "identity") || strings.Contains(text, "second process") {
			t.Errorf("%s takes a restart for a copy: %s", m.name, text)
		}
	}
}
