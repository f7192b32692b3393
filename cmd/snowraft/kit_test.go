package main

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/serve"
)

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
