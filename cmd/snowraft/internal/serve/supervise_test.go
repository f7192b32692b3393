package serve

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server"
)

// fakeManager is a service manager that records the states it receives.
type fakeManager struct {
	watchdog time.Duration
	began    time.Time

	mu      sync.Mutex
	learned []string // "SECONDS STATE STATE"
}

func (m *fakeManager) Watchdog() time.Duration { return m.watchdog }

func (m *fakeManager) Notify(states ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := time.Since(m.began).String()
	for _, s := range states {
		line += " " + s
	}
	m.learned = append(m.learned, line)
	return nil
}

func (m *fakeManager) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.learned)
}

// supervised is a serve command that runs with a fake member under a fake manager.
func supervised(t *testing.T, m *fakeMember, watchdog time.Duration) (a *testApp, manages *fakeManager, code chan int) {
	t.Helper()
	a, manages, code = newTestApp(), &fakeManager{watchdog: watchdog, began: time.Now()}, make(chan int, 1)
	a.open = func(context.Context, server.Config) (member, error) { return m, nil }
	a.manager = func() (manager, error) { return manages, nil }
	go func() { code <- a.run(t.Context(), "serve", "--name", "a") }()
	return a, manages, code
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the manager learned\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestManagerLearnsStartAndStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newFakeMember()
		var waits atomic.Bool
		waits.Store(true)
		m.ready = func() error {
			if waits.Load() {
				return errors.New("no leader")
			}
			return nil
		}
		a, manages, code := supervised(t, m, 0)
		time.Sleep(1500 * time.Millisecond)
		waits.Store(false)
		time.Sleep(time.Hour)
		a.Sent <- interrupt
		if code := <-code; code != cli.ExitDone {
			t.Errorf("exit code %d: %s", code, a.Err.String())
		}
		compare(t, manages.all(), []string{
			"0s READY=1 STATUS=serving at 127.0.0.1:1, cannot issue IDs yet: no leader",
			"2s STATUS=serving at 127.0.0.1:1, issuing IDs",
			"1h0m1.5s STOPPING=1 STATUS=shutting down",
		})
	})
}

func TestManagerSeesOnlyProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newFakeMember()
		var stuck atomic.Bool
		m.alive = func() error {
			if stuck.Load() {
				return errors.New("upkeep has not run")
			}
			return nil
		}
		a, manages, code := supervised(t, m, 10*time.Second)
		time.Sleep(10500 * time.Millisecond)
		stuck.Store(true)
		time.Sleep(time.Minute)
		stuck.Store(false)
		time.Sleep(2 * time.Second)
		m.end(errors.New("the disk is gone"))
		<-code
		compare(t, manages.all(), []string{
			"0s READY=1 STATUS=serving at 127.0.0.1:1, issuing IDs",
			"5s WATCHDOG=1",
			"10s WATCHDOG=1",
			"1m11s WATCHDOG=1",
			"1m12.5s STOPPING=1 STATUS=shutting down: the disk is gone",
		})
		if n := strings.Count(a.Err.String(), "process stuck"); n != 1 {
			t.Errorf("%d lines about the stuck process: %s", n, a.Err.String())
		}
	})
}

// A process whose locks are all held cannot report that.
func TestManagerSeesDeadlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newFakeMember()
		var held atomic.Bool
		free := make(chan struct{})
		m.ready = func() error {
			if held.Load() {
				<-free
			}
			return nil
		}
		a, manages, code := supervised(t, m, time.Second)
		time.Sleep(1100 * time.Millisecond)
		before := manages.all()
		if n := len(before); n < 3 || !strings.HasSuffix(before[n-1], "WATCHDOG=1") {
			t.Errorf("the manager learned %q", before)
		}
		held.Store(true)
		time.Sleep(time.Hour)
		compare(t, manages.all(), before)
		close(free)
		a.Sent <- interrupt
		<-code
	})
}

func TestUnknownManagerDoesNotStopServe(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	m := newFakeMember()
	a.open = func(context.Context, server.Config) (member, error) { return m, nil }
	a.manager = func() (manager, error) { return nil, errors.New("a socket of another kind") }
	m.end(nil)
	if code := a.run(t.Context(), "serve", "--name", "a"); code != cli.ExitDone || !strings.Contains(a.Err.String(), "a socket of another kind") {
		t.Errorf("exit code %d: %s", code, a.Err.String())
	}
}

func TestManagerOfTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	t.Setenv("WATCHDOG_PID", "")
	for _, c := range []struct {
		socket, micros string
		manager        bool
		watchdog       time.Duration
		fails          bool
	}{
		{"", "2000000", false, 0, false},
		{path, "", true, 0, false},
		{path, "2000000", true, 2 * time.Second, false},
		{path, "soon", true, 0, true},
	} {
		t.Setenv("NOTIFY_SOCKET", c.socket)
		t.Setenv("WATCHDOG_USEC", c.micros)
		m, err := inherit()
		if (m != nil) != c.manager || (err != nil) != c.fails {
			t.Errorf("%+v: %v, %v", c, m, err)
			continue
		}
		if m == nil {
			continue
		}
		if got := m.Watchdog(); got != c.watchdog {
			t.Errorf("%+v: a watchdog of %v", c, got)
		}
		if err := m.Notify("READY=1", status("waiting\nREADY=1\t for a  leader")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4096)
		n, err := conn.Read(buf)
		if got, want := string(buf[:n]), "READY=1\nSTATUS=waiting READY=1 for a leader"; err != nil || got != want {
			t.Errorf("datagram %q, %v, want %q", got, err, want)
		}
	}
}

func TestStatusIsBounded(t *testing.T) {
	t.Parallel()
	got := status(strings.Repeat("é", maxStatus))
	if len(got) > len("STATUS=")+maxStatus || strings.ToValidUTF8(got, "") != got || len(got) < maxStatus {
		t.Errorf("a status of %d bytes: %q", len(got), got)
	}
}
