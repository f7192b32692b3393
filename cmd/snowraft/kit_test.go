package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/serve"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testApp is a host whose environment is in memory, and that opens no server.
type testApp struct {
	*serve.Host
	*clitest.World
}

func newTestApp() *testApp {
	w := clitest.New()
	return &testApp{Host: &serve.Host{App: w.App(build().Version)}, World: w}
}

// command runs one command line.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	a := newTestApp()
	code = run(t.Context(), a.Host, args)
	return a.Out.String(), a.Err.String(), code
}

// succeeds runs a command line that must succeed, and returns its output.
func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := command(t, args...)
	if code != cli.ExitDone || stderr != "" {
		t.Fatalf("snowraft %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is right: go test ./cmd/snowraft -update\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

const interrupt = syscall.SIGINT
