package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestTidyRemovesRemainsOfKilledRuns(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	create := func(name string) string {
		dir := filepath.Join(parent, name)
		for _, sub := range []string{"disks", "bin", "harvest-1", "logs", "logs/bug.1/disks"} {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	killed, complete, underWay := create("killed"), create("complete"), create("in progress")
	if err := os.WriteFile(lockFile(killed), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	release, err := hold(underWay)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := tidy(parent); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]int{killed: 1, complete: 4, underWay: 5} {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != want {
			t.Errorf("%s has the entries %v, %v, want %d", dir, left, err, want)
		}
	}
	for dir, there := range map[string]bool{killed: false, complete: true, underWay: true} {
		if _, err := os.Stat(filepath.Join(dir, "logs", "bug.1", "disks")); (err == nil) != there {
			t.Errorf("disks of a run in %s: %v, want existence %t", dir, err, there)
		}
	}
	if _, err := hold(underWay); err == nil {
		t.Error("hold() locked a held directory again")
	}
}

func TestMakeDirectoryTakesNoDirectoryTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, want := range []string{"7", "7.1", "7.2"} {
		if dir, err := makeDirectory("", "7"); err != nil || filepath.Base(dir) != want {
			t.Errorf("makeDirectory() = %s, %v, want %s", dir, err, want)
		}
	}
	if dir, err := makeDirectory(filepath.Join(runs, "7"), "1"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("makeDirectory() of an existing path = %s, %v, want ErrExist", dir, err)
	}
}
