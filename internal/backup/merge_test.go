package backup_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/backup"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// branch returns a backup of a history in which a member granted the first count numbers of the sequence of state.
func branch(t *testing.T, count uint64, change func(*commandv1.BackupHeader)) *backup.Backup {
	t.Helper()
	b := &backup.Backup{Header: header(), State: state(t)}
	change(b.Header)
	grant := &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{Name: "orders", Generation: 5, Count: count}}}
	if err := b.State.Apply(6, 2, grant).Failure(); err != nil {
		t.Fatal(err)
	}
	return b
}

// The branch with the lower index may have granted more, and has its own limits and members.
func TestMergedBackups(t *testing.T) {
	t.Parallel()
	long := branch(t, 10, func(h *commandv1.BackupHeader) { h.Index = 100 })
	short := branch(t, 30, func(h *commandv1.BackupHeader) {
		h.Term, h.MaxWindowMs, h.MaxClockOffsetMs = 9, 900_000, 700
		h.Members = append(h.Members, &commandv1.BackupMember{Id: "8272a339-819c-46e5-b94c-bda5f65fffdb", RaftAddress: "10.0.0.2:7702"})
	})
	b, err := backup.Merge(short, long)
	if err != nil {
		t.Fatal(err)
	}
	h := b.Header
	if h.GetIndex() != 100 || h.GetTerm() != 9 || h.GetMaxWindowMs() != 900_000 || h.GetMaxClockOffsetMs() != 700 || len(h.GetMembers()) != 2 {
		t.Errorf("%v, want the greatest of both", h)
	}
	dir := filepath.Join(t.TempDir(), "new")
	ended := time.UnixMilli(header().GetTakenAtMs())
	r, err := backup.Restore{NowMillis: ended.UnixMilli(), OldEndedMillis: ended.UnixMilli()}.Into(dir, b)
	if err != nil {
		t.Fatal(err)
	}
	if want := ended.UnixMilli() + 900_000 + 2*700; r.FloorMillis != want || r.Frozen != 1 {
		t.Errorf("%+v, want a floor at %d", r, want)
	}
	restored, err := backup.OpenDirectory(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := restored.State.Sequence("orders")
	result := restored.State.Apply(r.Index+1, 10, &commandv1.Command{Body: &commandv1.Command_ResumeSequence{
		ResumeSequence: &commandv1.ResumeSequence{Name: "orders", Generation: q.Generation},
	}})
	if result.Failure() != nil || result.Sequence.Next != 31 {
		t.Errorf("%+v (%v), want 31 next", result.Sequence, result.Failure())
	}
}

func TestMergeRefusesAnotherCluster(t *testing.T) {
	t.Parallel()
	other := branch(t, 1, func(h *commandv1.BackupHeader) { h.ClusterId = "50d28448-6dfe-4a73-ab47-6105a27ac056" })
	if _, err := backup.Merge(branch(t, 1, func(*commandv1.BackupHeader) {}), other); err == nil || !strings.Contains(err.Error(), "two clusters") {
		t.Errorf("Merge() = %v", err)
	}
}
