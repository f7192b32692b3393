//go:build root

package storage

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSeedGivesFilesToOwnerOfDirectory restores as root into the empty directory of a service.
func TestSeedGivesFilesToOwnerOfDirectory(t *testing.T) {
	const user, group = 65532, 65533
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, lostAndFound), 0o700); err != nil {
		t.Fatal(err)
	}
	const recovered = "#12"
	if err := os.WriteFile(filepath.Join(dir, lostAndFound, recovered), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, user, group); err != nil {
		t.Fatal(err)
	}
	if _, err := seed(text("state")).Create(dir, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		seen++
		uid, gid := uint32(user), uint32(group)
		if e.Name() == lostAndFound || e.Name() == recovered {
			uid, gid = 0, 0
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != uid || s.Gid != gid {
			t.Errorf("%s belongs to %d:%d, want %d:%d", path, s.Uid, s.Gid, uid, gid)
		}
		return nil
	})
	if err != nil || seen < 7 {
		t.Errorf("%d files and directories, %v", seen, err)
	}
}
