package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

// user runs command lines of one user, whose configuration is in a directory.
type user struct {
	t   *testing.T
	dir string
}

func (u user) run(environ map[string]string, args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	a := newTestApp()
	if environ != nil {
		a.Environ = environ
	}
	a.Config = u.dir
	a.Host.App.ConfigDir = func() (string, error) { return u.dir, nil }
	code = run(u.t.Context(), a.Host, args)
	return a.Out.String(), a.Err.String(), code
}

func (u user) succeeds(environ map[string]string, args ...string) string {
	u.t.Helper()
	stdout, stderr, code := u.run(environ, args...)
	if code != cli.ExitDone || stderr != "" {
		u.t.Fatalf("snowraft %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

func (u user) path() string { return filepath.Join(u.dir, "snowraft", "contexts.yaml") }

func TestContextsGiveAddressesAndCredentials(t *testing.T) {
	t.Parallel()
	s, other := newSecuredAPI(t), newSecuredAPI(t)
	u := user{t, t.TempDir()}
	token := map[string]string{"SNOWRAFT_TOKEN": s.token}
	u.succeeds(token, "context", "add", "prod", "--addr", s.Address)
	u.succeeds(nil, "context", "add", "test", "--addr", other.Address, "--secret-file", other.file(t, "secret", other.secret.Line()+"\n"))
	if info, err := os.Stat(u.path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", info, err)
	}
	if _, _, code := u.run(nil, "status"); code == cli.ExitDone {
		t.Error("a context applies that is not in use")
	}
	u.succeeds(nil, "context", "use", "prod")
	caller := func(of *securedAPI, environ map[string]string, args ...string) string {
		t.Helper()
		of.caller.Store(nil)
		u.succeeds(environ, append([]string{"id"}, args...)...)
		if c := of.caller.Load(); c != nil {
			return *c
		}
		return "no caller"
	}
	bearer := "Bearer " + s.token
	if got := caller(s, nil); got != bearer {
		t.Errorf("the context in use: called as %q", got)
	}
	for _, c := range []struct {
		environ map[string]string
		args    []string
	}{
		{nil, []string{"--context", "test"}},
		{map[string]string{"SNOWRAFT_CONTEXT": "test"}, nil},
		{map[string]string{"SNOWRAFT_CONTEXT": "prod"}, []string{"--context", "test"}},
		{map[string]string{"SNOWRAFT_ADDR": "127.0.0.1:1"}, []string{"--context", "test", "--addr", other.Address}},
	} {
		if got := caller(other, c.environ, c.args...); got != "admin" {
			t.Errorf("%v %v: called as %q", c.environ, c.args, got)
		}
	}
	// Credentials of the command replace those of the context.
	if got := caller(s, nil, "--context", "prod", "--secret-file", s.file(t, "secret", s.secret.Line()+"\n")); got != "admin" {
		t.Errorf("called as %q", got)
	}
	// The context in use does not apply to other addresses, so its credentials do not go there.
	u.succeeds(nil, "id", "--addr", clitest.NewAPI(t).Address)
	u.succeeds(map[string]string{"SNOWRAFT_ADDR": clitest.NewAPI(t).Address}, "id")
	other.caller.Store(nil)
	if _, stderr, code := u.run(nil, "id", "--addr", other.Address); code == cli.ExitDone || other.caller.Load() != nil {
		t.Errorf("exit code %d, %s; called as %v", code, stderr, other.caller.Load())
	}
	u.succeeds(nil, "context", "remove", "prod")
	if out := u.succeeds(nil, "context", "list", "-o", "json"); strings.Contains(out, "prod") || strings.Contains(out, `"current": true`) {
		t.Errorf("context list: %s", out)
	}
}

func TestContextsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSecuredAPI(t)
	u := user{t, t.TempDir()}
	u.succeeds(map[string]string{"SNOWRAFT_TOKEN": s.token}, "context", "add", "prod", "--addr", s.Address)
	for says, args := range map[string][]string{
		`context "prod": exists`:      {"context", "add", "prod", "--addr", "a:1"},
		`context "x": not found`:      {"context", "use", "x"},
		`context "y": not found`:      {"status", "--context", "y"},
		"missing --addr":              {"context", "add", "x"},
		`NAME "a b": expected 1 to`:   {"context", "add", "a b", "--addr", "a:1"},
		`--context "a/b": expected 1`: {"status", "--context", "a/b"},
		"cannot be read":              {"context", "add", "x", "--addr", "a:1", "--secret-file", "/no/such/file"},
	} {
		if _, stderr, code := u.run(nil, args...); code != cli.ExitUsage || !strings.Contains(stderr, says) {
			t.Errorf("%q: exit code %d: %s, want %q", args, code, stderr, says)
		}
	}
	if out := u.succeeds(nil, "context", "list"); strings.Contains(out, s.token) || !strings.Contains(out, "token") {
		t.Errorf("context list: %s", out)
	}
	// A file with tokens that others can read, or that does not parse, is refused, and not shown.
	if err := os.Chmod(u.path(), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := u.run(nil, "status"); code != cli.ExitUsage || !strings.Contains(stderr, "chmod 600") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if err := os.Chmod(u.path(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.path(), []byte("tokens: ["+s.token), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := u.run(nil, "status"); code != cli.ExitUsage || strings.Contains(stderr, s.token) || !strings.Contains(stderr, "expected YAML") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestContextsAreCompleted(t *testing.T) {
	t.Parallel()
	u := user{t, t.TempDir()}
	for _, name := range []string{"prod", "preview", "test"} {
		u.succeeds(nil, "context", "add", name, "--addr", "a:1")
	}
	for _, args := range [][]string{{"context", "use", "pr"}, {"context", "remove", "pr"}, {"status", "--context", "pr"}} {
		out, _, _ := u.run(nil, append([]string{"__completeNoDesc"}, args...)...)
		if got := strings.Fields(out); !slices.Equal(got, []string{"preview", "prod", ":4"}) { // 4: no files
			t.Errorf("%q: %q", args, out)
		}
	}
}
