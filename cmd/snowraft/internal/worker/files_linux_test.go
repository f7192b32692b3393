package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A process could claim a worker that no wrapper holds, if the files of a killed wrapper with more workers stayed. Files of others stay.
func TestRunRemovesTheFilesOfAKilledWrapper(t *testing.T) {
	t.Parallel()
	m, dir := startMember(t), t.TempDir()
	for name, text := range map[string]string{
		"1": "WORKER=1\nDATACENTER=0\nLAYOUT=default\nSPLIT=32\nPAUSE_MS=9\n", "2026.txt": "a report", "3": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := m.wrapPlain(t, "echo; echo $(ls "+dir+")", "--weak-containment", "--dir", dir)
	w.begin(t)
	if got, want := w.last(t), "0 2026.txt 3"; got != want || w.code() != 0 {
		t.Errorf("the directory has %q, want %q: %s", got, want, w.errors.String())
	}
}

// Two wrappers never share a file or a directory, in which a process of one would find the worker of the other.
func TestFilesHaveOneWrapper(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	for _, flag := range []string{"--file", "--dir"} {
		place := t.TempDir()
		if flag == "--file" {
			place = filepath.Join(place, "worker")
		}
		first := m.wrapPlain(t, "echo; sleep 100", "--weak-containment", flag, place)
		first.begin(t)
		second := m.wrapPlain(t, "echo", "--weak-containment", flag, place)
		if code := second.code(); code != 1 || second.errors.String() != "snowraft: "+flag+` "`+place+`": another worker run uses it; give each its own`+"\n" {
			t.Errorf("%s: exit code %d: %s", flag, code, second.errors.String())
		}
		if flag == "--dir" {
			inside := m.wrapPlain(t, "echo", "--weak-containment", "--file", filepath.Join(place, "worker"))
			if code := inside.code(); code != 1 || !strings.Contains(inside.errors.String(), "its directory is the --dir of another worker run") {
				t.Errorf("a file in the directory: exit code %d: %s", code, inside.errors.String())
			}
		}
		_ = first.Process.Kill()
		<-first.done
		third := m.wrapPlain(t, "echo; cat "+place+"*/0 "+place+" 2>/dev/null; true", "--weak-containment", flag, place)
		third.begin(t)
		if got := third.last(t); third.code() != 0 || !strings.Contains(got, "=") {
			t.Errorf("%s of a killed wrapper: %q: %s", flag, got, third.errors.String())
		}
	}
}
