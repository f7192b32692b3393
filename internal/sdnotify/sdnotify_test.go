package sdnotify

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listen returns a manager's socket.
func listen(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// read returns the next datagram.
func read(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNotifySendsOneDatagram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	conn := listen(t, path)
	m, err := Open(environment(socketVariable, path), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Notify(Ready, Status("waiting\nREADY=1\t for a  leader")); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, conn), "READY=1\nSTATUS=waiting READY=1 for a leader"; got != want {
		t.Errorf("datagram %q, want %q", got, want)
	}
}

func TestStatusIsBounded(t *testing.T) {
	t.Parallel()
	got := string(Status(strings.Repeat("é", maxStatus)))
	if len(got) > len("STATUS=")+maxStatus || strings.ToValidUTF8(got, "") != got || len(got) < maxStatus {
		t.Errorf("a status of %d bytes: %q", len(got), got)
	}
}

func TestOpenReadsTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env      []string
		manager  bool
		watchdog time.Duration
		fails    bool
	}{
		"no manager":            {},
		"a manager":             {env: []string{socketVariable, "/run/x"}, manager: true},
		"an abstract socket":    {env: []string{socketVariable, "@x"}, manager: true},
		"a watchdog":            {env: []string{socketVariable, "/run/x", watchdogVariable, "30000000", watchdogPIDVariable, "7"}, manager: true, watchdog: 30 * time.Second},
		"a watchdog for anyone": {env: []string{socketVariable, "/run/x", watchdogVariable, "1"}, manager: true, watchdog: time.Microsecond},
		"that of another":       {env: []string{socketVariable, "/run/x", watchdogVariable, "30000000", watchdogPIDVariable, "8"}, manager: true},
		"no number":             {env: []string{socketVariable, "/run/x", watchdogVariable, "soon"}, manager: true, fails: true},
		"zero":                  {env: []string{socketVariable, "/run/x", watchdogVariable, "0"}, manager: true, fails: true},
		"too large":             {env: []string{socketVariable, "/run/x", watchdogVariable, "18446744073709551615"}, manager: true, fails: true},
		"another family":        {env: []string{socketVariable, "vsock:2:1"}, fails: true},
	} {
		m, err := Open(environment(c.env...), 7)
		if (m != nil) != c.manager || m.Watchdog() != c.watchdog || (err != nil) != c.fails {
			t.Errorf("%s: %v, a watchdog of %v, error %v", name, m, m.Watchdog(), err)
		}
	}
}

func TestNotifyWithoutManager(t *testing.T) {
	t.Parallel()
	var none *Manager
	if err := none.Notify(Ready); err != nil {
		t.Error(err)
	}
	gone, err := Open(environment(socketVariable, filepath.Join(t.TempDir(), "gone")), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Notify(Ready); err == nil {
		t.Error("no error for a socket that does not exist")
	}
}

func TestInheritTakesTheVariables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	t.Setenv(socketVariable, path)
	t.Setenv(watchdogVariable, "2000000")
	t.Setenv(watchdogPIDVariable, "")
	m, err := Inherit()
	if err != nil || m.Watchdog() != 2*time.Second {
		t.Errorf("a watchdog of %v, error %v", m.Watchdog(), err)
	}
	for _, name := range []string{socketVariable, watchdogVariable, watchdogPIDVariable} {
		if v, set := os.LookupEnv(name); set {
			t.Errorf("%s is %q", name, v)
		}
	}
}
