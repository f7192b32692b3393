package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/server"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testApp is an app whose outside world is in memory.
type testApp struct {
	*app
	out, err syncBuffer
	environ  map[string]string
	sent     chan os.Signal
	percents []int // that were set for the garbage collector
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
	t.app = &app{
		stdout:    &t.out,
		stderr:    &t.err,
		env:       func(name string) string { return t.environ[name] },
		now:       func() time.Time { return time.Unix(0, 0) },
		signals:   func() (<-chan os.Signal, func()) { return t.sent, func() {} },
		collectAt: func(percent int) { t.percents = append(t.percents, percent) },
		open:      func(context.Context, server.Config) (member, error) { return nil, errors.New("not to be opened") },
		openGateway: func(context.Context, server.GatewayConfig) (process, error) {
			return nil, errors.New("not to be opened")
		},
	}
	return t
}

// command runs one command line.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	a := newTestApp()
	code = run(t.Context(), a.app, args)
	return a.out.String(), a.err.String(), code
}

// succeeds runs a command line that must succeed, and returns what it prints.
func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := command(t, args...)
	if code != exitDone || stderr != "" {
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

// fakeMember is a member without anything behind it.
type fakeMember struct {
	api    string
	done   chan struct{}
	err    error
	shut   func(context.Context) error
	closed chan struct{}
	once   sync.Once
}

func newFakeMember() *fakeMember {
	return &fakeMember{
		api: "127.0.0.1:1", done: make(chan struct{}), closed: make(chan struct{}),
		shut: func(context.Context) error { return nil },
	}
}

// end makes the member one that must end by itself.
func (m *fakeMember) end(err error) {
	m.err = err
	close(m.done)
}

func (m *fakeMember) Done() <-chan struct{} { return m.done }
func (m *fakeMember) Err() error            { return m.err }
func (m *fakeMember) Ready() error          { return nil }
func (m *fakeMember) APIAddr() string       { return m.api }
func (m *fakeMember) HTTPAddr() string      { return "127.0.0.1:2" }
func (m *fakeMember) RaftAddr() string      { return "127.0.0.1:3" }
func (m *fakeMember) GossipAddr() string    { return "127.0.0.1:4" }
func (m *fakeMember) RedisAddr() string     { return "127.0.0.1:5" }
func (m *fakeMember) ClusterID() string     { return "cluster-1" }
func (m *fakeMember) NodeID() string        { return "node-1" }

func (m *fakeMember) Close(ctx context.Context) error {
	m.once.Do(func() { close(m.closed) })
	return m.shut(ctx)
}

var _ member = (*fakeMember)(nil)

const interrupt = syscall.SIGINT
