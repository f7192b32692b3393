package logging

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	known   = "aa1aa597-f5ee-4684-9d6e-556e82693f39"
	unknown = "0eb8c34e-01e3-4761-9a84-df66d4e436d2"
)

func name(id string) string {
	if id == known {
		return "b"
	}
	return ""
}

func line(t *testing.T, log func(hclog.Logger)) string {
	t.Helper()
	var buf bytes.Buffer
	log(Hashicorp(slog.New(slog.NewTextHandler(&buf, nil)), "raft", name))
	_, text, _ := strings.Cut(strings.TrimSpace(buf.String()), " ") // without the time
	return text
}

func TestMembersAreNamed(t *testing.T) {
	t.Parallel()
	server := raft.Server{Suffrage: raft.Voter, ID: known, Address: known + "@h:7702"}
	other := raft.Server{Suffrage: raft.Nonvoter, ID: unknown, Address: unknown + "@h:7712"}
	for want, log := range map[string]func(hclog.Logger){
		`level=WARN msg="failed to appendEntries to" component=raft peer=b@h:7702 error="member b: refused" "backoff time"=10ms next=7`: func(l hclog.Logger) {
			l.Error("failed to appendEntries to", "peer", server, "error", errors.New("member "+known+": refused"), "backoff time", 10*time.Millisecond, "next", uint64(7))
		},
		`level=INFO msg="failed to contact" component=raft server-id=b time=1s`: func(l hclog.Logger) {
			l.Warn("failed to contact", "server-id", raft.ServerID(known), "time", time.Second)
		},
		`level=INFO msg="not known" component=raft peer=` + unknown + `@h:7712`: func(l hclog.Logger) { l.Warn("not known", "peer", other) },
		`level=INFO msg=configuration component=raft servers="[b@h:7702 ` + unknown + `@h:7712]"`: func(l hclog.Logger) {
			l.Warn("configuration", "servers", hclog.Fmt("%+v", []raft.Server{server, other}))
		},
		`level=INFO msg="Suspect b/3 has failed" component=raft`: func(l hclog.Logger) { l.Warn("Suspect " + known + "/3 has failed") },
	} {
		if got := line(t, log); got != want {
			t.Errorf("log = %s\nwant  %s", got, want)
		}
	}
}

func TestRoutineIsNotLoggedAtInfo(t *testing.T) {
	t.Parallel()
	if got := line(t, func(l hclog.Logger) { l.Info("entering follower state") }); got != "" {
		t.Errorf("log = %s, want none", got)
	}
}

// Lines that each healthy start and stop brings alarm operators.
func TestStartsAndStopsAreQuiet(t *testing.T) {
	t.Parallel()
	for _, msg := range []string{
		"no known peers, aborting election", "failed to get previous log", "appendEntries rejected, sending older logs",
		"memberlist: Failed to send gossip to 127.0.0.1:7713: write udp 127.0.0.1:7703->127.0.0.1:7713: use of closed network connection",
	} {
		if got := line(t, func(l hclog.Logger) { l.Error(msg) }); got != "" {
			t.Errorf("log = %s, want none", got)
		}
	}
	for _, err := range []error{raft.ErrTransportShutdown, net.ErrClosed, fmt.Errorf("member b: %w", net.ErrClosed), errors.New("member b: dial tcp 127.0.0.1:7702: connect: connection refused")} {
		if got := line(t, func(l hclog.Logger) {
			l.Error("failed to appendEntries to", "peer", raft.Server{ID: known}, "error", err)
		}); got != "" {
			t.Errorf("log = %s, want none", got)
		}
	}
	if got := line(t, func(l hclog.Logger) { l.Error("failed to heartbeat to", "error", errors.New("connection refused")) }); got == "" {
		t.Error("a member that is down is not logged")
	}
	if got := line(t, func(l hclog.Logger) {
		l.Error("memberlist: Failed to send gossip to 127.0.0.1:7713: network is unreachable")
	}); !strings.Contains(got, "unreachable") {
		t.Errorf("log = %q, want a line about a network that fails", got)
	}
}

// TestStrangersFillNoLog logs memberlist's messages about datagrams from any number of addresses.
func TestStrangersFillNoLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		logger := Standard(slog.New(slog.NewTextHandler(&buf, nil)), "gossip", name)
		for window := range 3 {
			buf.Reset()
			for port := range 10_000 {
				logger.Printf("[WARN] memberlist: Got ping for unexpected node 'a' from=192.0.2.1:%d", port)
			}
			if n := strings.Count(buf.String(), "\n"); n != maxLogKinds {
				t.Errorf("%d lines in window %d, want %d", n, window, maxLogKinds)
			}
			<-time.After(logPause)
		}
	})
}
