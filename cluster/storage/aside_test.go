package storage

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindAside(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for name, cluster := range map[string]string{"other": "1", "data": "2", "data2": "3", "database": "4", "data.new": ""} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := (&Identity{dir: filepath.Join(parent, name), data: identityData{MemberID: "m", ClusterID: cluster}}).save(); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(parent, "data")
	if got := FindAside(dir); got != (Aside{}) {
		t.Errorf("FindAside() = %+v next to other directories", got)
	}
	old := filepath.Join(parent, "data.old")
	if err := os.Rename(dir, old); err != nil {
		t.Fatal(err)
	}
	if got := FindAside(dir); got != (Aside{old, "2"}) {
		t.Errorf("FindAside() = %+v, want %s", got, old)
	}
	if got := FindAside(""); got != (Aside{}) {
		t.Errorf("FindAside() = %+v of a member without a directory", got)
	}
}
