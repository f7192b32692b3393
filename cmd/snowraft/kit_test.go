package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/serve"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testApp is an app whose outside world is in memory.
type testApp struct {
	*serve.Host
	out, err syncBuffer
	environ  map[string]string
	sent     chan os.Signal
}

// syncBuffer is a bytes.Buffer that may be read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newTestApp() *testApp {
	t := &testApp{environ: map[string]string{}, sent: make(chan os.Signal, 2)}
	t.Host = &serve.Host{App: &cli.App{ // which opens no server
		Stdout:  &t.out,
		Stderr:  &t.err,
		Env:     func(name string) string { return t.environ[name] },
		Now:     func() time.Time { return time.Unix(0, 0) },
		Signals: func() (<-chan os.Signal, func()) { return t.sent, func() {} },
		Version: build().Version,
	}}
	return t
}

// command runs one command line.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	a := newTestApp()
	code = run(t.Context(), a.Host, args)
	return a.out.String(), a.err.String(), code
}

// succeeds runs a command line that must succeed, and returns what it prints.
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
