package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// storeBackup writes a backup of a member.
func storeBackup(n *node, path string) {
	n.t.Helper()
	b, err := n.backup(false)
	if err != nil {
		n.t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		n.t.Fatal(err)
	}
	if err := errors.Join(backup.Write(f, b.Header, b.State), f.Close()); err != nil {
		n.t.Fatal(err)
	}
}

// A release restores the backup of every earlier one; see TestOpensStoredDataDirectories.
func TestRestoresStoredBackups(t *testing.T) {
	t.Parallel()
	stored, err := filepath.Glob("testdata/formats-*.zip")
	if err != nil || len(stored) == 0 {
		t.Fatalf("stored backups: %q, %v", stored, err)
	}
	for _, path := range stored {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			dir, a := unpack(t, path)
			b, err := backup.Open(filepath.Join(dir, "backup"))
			if err != nil {
				t.Fatal(err)
			}
			a.State.same(t, replicatedIn(b.State, a.State.Removed))
			if h := b.Header; h.GetClusterId() != a.ClusterID || h.GetMemberId() != a.MemberID {
				t.Errorf("header %v, want cluster %s and member %s", h, a.ClusterID, a.MemberID)
			}
			later := time.UnixMilli(a.ClockAtMs).Add(10 * time.Minute) // the fence has ended
			restored := filepath.Join(dir, "restored")
			r, err := backup.Restore{NowMillis: later.UnixMilli(), OldEndedMillis: a.ClockAtMs, KeepTokens: true}.Into(restored, b)
			if err != nil {
				t.Fatal(err)
			}
			n := newNode(t, "m1", func(c *server.Config) { c.DataDir = restored })
			n.setClock(time.Until(later))
			n.start().untilReady()
			if n.server.ClusterID() != r.Cluster || r.Old != a.ClusterID {
				t.Errorf("cluster %s, restored: %+v, want another one than %s", n.server.ClusterID(), r, a.ClusterID)
			}
			now := &account{Grants: make(map[string][]byte)}
			now.look(n, nil)
			same(t, "configuration", a.Config, now.Config, &snowraftv1.GetConfigResponse{})
			same(t, "layouts", a.Layouts, now.Layouts, &snowraftv1.ListLayoutsResponse{})
			was, is := a.State, replicatedBy(n, nil)
			was.Workers, is.Workers = nil, nil // the restore has released all workers
			was.Removed, is.Removed = nil, nil // members of the old cluster
			was.same(t, is)
			a.resumes(n)
		})
	}
}

// resumes checks that a restored member issues no ID or number that was issued before the backup.
func (a *account) resumes(n *node) {
	t := n.t
	if id := slices.Min(n.mustGenerate(1000)); id <= slices.Max(a.IDs) {
		t.Errorf("ID %d was issued after %d", id, slices.Max(a.IDs))
	}
	for name, issued := range a.Numbers {
		if _, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1}); reason(err) != rpc.SequenceFrozen {
			t.Errorf("number of %s: %v, want %s", name, err, rpc.SequenceFrozen)
		}
		if _, err := n.sequences.ResumeSequence(t.Context(), &snowraftv1.ResumeSequenceRequest{Sequence: name}); err != nil {
			t.Errorf("resume %s: %v", name, err)
		}
		if strings.HasPrefix(name, "daily-") {
			continue // the day of the backup is skipped
		}
		if next := n.next(name, 1)[0]; next <= slices.Max(issued) {
			t.Errorf("%s: %d was issued after %d", name, next, slices.Max(issued))
		}
	}
}
