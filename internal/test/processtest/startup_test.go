//go:build process

package processtest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fails starts a member that must fail with an exit code, and returns its error.
func fails(t *testing.T, m *member, wantCode int, extra ...string) string {
	t.Helper()
	m.start(extra...)
	if code := m.exit(); code != wantCode {
		t.Errorf("exit code %d, want %d: %s", code, wantCode, m.stderr.tail(20))
	}
	text := m.stderr.String()
	if lines := strings.Count(strings.TrimRight(text, "\n"), "\n"); lines > 0 {
		t.Errorf("the error has several lines: %s", text)
	}
	return text
}

func TestOccupiedPort(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--api-addr", "--http-addr", "--raft-addr", "--gossip-addr"} {
		m := newMember(t, "m1")
		address := map[string]string{"--api-addr": m.api, "--http-addr": m.http, "--raft-addr": m.raft, "--gossip-addr": m.gossip}[flag]
		occupy(t, address)
		if text := fails(t, m, 1); !strings.Contains(text, flag+" "+address) || !strings.Contains(text, "in use") {
			t.Errorf("%s: %s", flag, text)
		}
		if _, err := os.Stat(m.dir); !os.IsNotExist(err) {
			t.Errorf("%s: the data directory was created: %v", flag, err)
		}
	}
}

func TestWrongCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"--no-such-flag"}, []string{"--no-such-flag", "serve --help"}},
		{[]string{"--initial-max-window", "soon"}, []string{"--initial-max-window", `"soon"`, "expected a duration"}},
		{[]string{"--bootstrap-expect", "2"}, []string{"--bootstrap-expect", `"2"`, "odd"}},
		{[]string{"--config", "/no/such/file"}, []string{"--config", "/no/such/file", "cannot be read"}},
	} {
		m := newMember(t, "m1")
		text := fails(t, m, 2, c.flags...)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%v: %s does not contain %s", c.flags, text, want)
			}
		}
		if _, err := os.Stat(m.dir); !os.IsNotExist(err) {
			t.Errorf("%v: the data directory was created: %v", c.flags, err)
		}
	}
}

// TestFailedStartAmongOthers starts a member that must fail, while the other members,
// which still try to reach it, send to its gossip port. The member must exit nevertheless.
func TestFailedStartAmongOthers(t *testing.T) {
	t.Parallel()
	m := newMember(t, "m1")
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "member.json"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var senders sync.WaitGroup
	for _, network := range []string{"udp", "tcp"} {
		senders.Go(func() {
			for ctx.Err() == nil {
				if conn, err := net.Dial(network, m.gossip); err == nil {
					_, _ = conn.Write([]byte("hello"))
					_ = conn.Close()
				}
			}
		})
	}
	defer senders.Wait()
	defer cancel()
	for range 5 {
		if text := fails(t, m, 1); !strings.Contains(text, "member.json") || !strings.Contains(text, "is damaged") {
			t.Errorf("the error is %s", text)
		}
	}
}
