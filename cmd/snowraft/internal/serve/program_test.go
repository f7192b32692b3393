package serve

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProgramName(t *testing.T) {
	dir := t.TempDir()
	installed := filepath.Join(dir, "installed")
	for _, file := range []string{filepath.Join(installed, "snowraft"), filepath.Join(dir, "repository", source, "main.go"), filepath.Join(dir, "built", "snowraft")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", installed)
	for _, c := range []struct{ dir, arg0, want string }{
		{dir, "snowraft", "snowraft"},
		{dir, filepath.Join(installed, "snowraft"), "snowraft"},
		{dir, filepath.Join(dir, "built", "snowraft"), filepath.Join(dir, "built", "snowraft")},
		{dir, "./built/snowraft", "./built/snowraft"},
		{dir, "./Jo's files/snowraft", `'./Jo'\''s files/snowraft'`},
		{filepath.Join(dir, "repository"), "/tmp/go-build123/b001/exe/snowraft", "go run ./cmd/snowraft"},
		{filepath.Join(dir, "repository"), "/root/.cache/go-build/ab/cd-d/snowraft", "go run ./cmd/snowraft"},
		{dir, "/tmp/go-build123/b001/exe/snowraft", "/tmp/go-build123/b001/exe/snowraft"},
	} {
		t.Chdir(c.dir)
		if got := programName(c.arg0); got != c.want {
			t.Errorf("programName(%q) in %s = %q, want %q", c.arg0, c.dir, got, c.want)
		}
	}
}
