package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

// debugFiles writes an archive of a fake and of two members that do not answer, and returns the files in the archive.
func debugFiles(t *testing.T, sent [][2]string) (files map[string]string, stderr string, code int) {
	t.Helper()
	f := clitest.NewAPI(t)
	f.Files = sent
	path := filepath.Join(t.TempDir(), "x.tar.gz")
	_, stderr, code = command(t, "debug", path, "--addr", f.Address, "--seconds", "1", "--timeout", "3s")
	file, err := os.Open(path)
	if err != nil {
		return nil, stderr, code
	}
	defer func() { _ = file.Close() }()
	gz, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, stderr, code
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(raw)
	}
}

func TestDebugFindsMembersAtGivenAddresses(t *testing.T) {
	t.Parallel()
	files, stderr, code := debugFiles(t, [][2]string{{"status.json", "{}"}, {"raft.json", "lines"}})
	if code != cli.ExitDone || files["snowraft-debug/members/a-n-1/status.json"] != "{}" || files["snowraft-debug/members/a-n-1/raft.json"] != "lines" {
		t.Errorf("exit code %d: %s%v", code, stderr, files)
	}
	if !strings.Contains(stderr, "is not in the archive: ") || !strings.Contains(files["snowraft-debug/archive.json"], `"error": "`) {
		t.Errorf("stderr: %s\n%s", stderr, files["snowraft-debug/archive.json"])
	}
}

func TestDebugRejectsUnexpectedFiles(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string][][2]string{
		"outside":  {{"../../etc/passwd", "x"}},
		"absolute": {{"/etc/passwd", "x"}},
		"hidden":   {{".profile", "x"}},
		"nothing":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, stderr, code := debugFiles(t, sent)
			if code == cli.ExitDone || len(files) > 0 || !strings.Contains(stderr, "no member sent a file: ") {
				t.Errorf("exit code %d: %s%v", code, stderr, files)
			}
		})
	}
	files, stderr, code := debugFiles(t, [][2]string{{"raft.json", "x"}, {"status.json", "y"}, {"raft.json", "z"}})
	if code != cli.ExitDone || !strings.Contains(stderr, "are incomplete: ") || files["snowraft-debug/members/a-n-1/raft.json"] != "x" {
		t.Errorf("twice: exit code %d: %s%v", code, stderr, files)
	}
}

func TestDebugUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exists := filepath.Join(dir, "exists")
	if err := os.WriteFile(exists, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(dir, "new")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{exists}, "the file exists; choose another name"},
		{[]string{fresh, "--seconds", "61"}, "expected a whole number from 1 to 60"},
	} {
		_, stderr, code := command(t, append([]string{"debug"}, c.args...)...)
		if code != cli.ExitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: exit code %d: %s", c.args, code, stderr)
		}
		if _, err := os.Stat(fresh); err == nil {
			t.Errorf("%q: wrote a file", c.args)
		}
	}
}
