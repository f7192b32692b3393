package serve

import (
	"google.golang.org/grpc"

	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/test/freeport"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// devPorts is the number of successive ports that has all ports of dev.
const devPorts = (devMembers-1)*portStep + thriftOffset + 1

// devApp is an app whose dev opens fake members, all of which answer at one fake API.
func devApp(t *testing.T) (a *testApp, opened *[]server.Config, members *[]*fakeMember) {
	t.Helper()
	a = newTestApp()
	api := startIssuer(t)
	opened, members = new([]server.Config), new([]*fakeMember)
	a.open = func(_ context.Context, cfg server.Config) (member, error) {
		if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
			return nil, err
		}
		m := newFakeMember()
		m.api, m.thrift = api, cfg.ThriftAddr
		*opened, *members = append(*opened, cfg), append(*members, m)
		return m, nil
	}
	return a, opened, members
}

func TestDev(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	a, opened, members := devApp(t)
	base := freeport.Base(t, devPorts)
	// The signal arrives before the start, so dev prints only the welcome before it stops.
	started := make(chan struct{})
	go func() {
		<-started
		a.Sent <- interrupt
	}()
	a.Stdout = writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "Press Ctrl-C to stop.") {
			close(started)
		}
		return a.Out.Write(p)
	})
	if code := a.run(t.Context(), "dev", "--port-base", strconv.Itoa(base)); code != cli.ExitDone || a.Err.String() != "" {
		t.Fatalf("exit code %d: %s", code, a.Err.String())
	}
	if len(*opened) != 3 {
		t.Fatalf("%d members, want 3", len(*opened))
	}
	for i, cfg := range *opened {
		at := func(offset int) string { return net.JoinHostPort(cli.Localhost, strconv.Itoa(base+offset)) }
		own := 10 * i
		if cfg.APIAddr != at(own) || cfg.HTTPAddr != at(own+1) || cfg.RaftAddr != at(own+2) || cfg.GossipAddr != at(own+3) || cfg.RedisAddr != at(own+4) {
			t.Errorf("member %d listens at %s, %s, %s, %s and %s", i, cfg.APIAddr, cfg.HTTPAddr, cfg.RaftAddr, cfg.GossipAddr, cfg.RedisAddr)
		}
		if cfg.BootstrapExpect != 3 || len(cfg.Join) != 2 || strings.Contains(strings.Join(cfg.Join, ","), cfg.GossipAddr) {
			t.Errorf("member %d expects %d and joins %v", i, cfg.BootstrapExpect, cfg.Join)
		}
		if cfg.RedisCreate != "strict" {
			t.Errorf("an INCR at member %d creates %q, want strict sequences", i, cfg.RedisCreate)
		}
		select {
		case <-(*members)[i].closed:
		default:
			t.Errorf("member %d was not closed", i)
		}
	}
	screen := strings.SplitN(a.Out.String(), "\n", 11)[:10]
	for _, line := range screen {
		if len(line) > 80 {
			t.Errorf("line of the first screen with %d columns: %q", len(line), line)
		}
	}
	for _, want := range []string{"Try in a second terminal:", "  curl http://", "/id", "  ./snowraft id -n 5 ", "  ./snowraft seq create orders ", "  ./snowraft seq next orders "} {
		if !strings.Contains(strings.Join(screen, "\n"), want) {
			t.Errorf("the first ten lines have no %q: %s", want, a.Out.String())
		}
	}
	if want := "Console: http://"; !strings.HasPrefix(a.Out.String(), want) {
		t.Errorf("the welcome begins with %.60q, want %q", a.Out.String(), want)
	}
	for _, want := range []string{"dev-1", net.JoinHostPort(cli.Localhost, strconv.Itoa(base+5)), "249709288400883713", "2026-11-21T01:35:33.729Z", "\n  ./snowraft id -n 5 --addr ", "\n  ./snowraft member list --addr ", "/seq/orders\n", "redis-cli -p ", "deleted on exit"} {
		if !strings.Contains(a.Out.String(), want) {
			t.Errorf("the welcome has no %q: %s", want, a.Out.String())
		}
	}
	wantNoFiles(t, os.Getenv("TMPDIR"))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func wantNoFiles(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDevThatCannotStart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	a, opened, members := devApp(t)
	open := a.open
	a.open = func(ctx context.Context, cfg server.Config) (member, error) {
		if len(*opened) == 2 {
			return nil, errors.New("the disk is full")
		}
		return open(ctx, cfg)
	}
	code := a.run(t.Context(), "dev", "--port-base", strconv.Itoa(freeport.Base(t, devPorts)))
	if want := "snowraft: dev-3: the disk is full\n"; code != cli.ExitFailed || a.Err.String() != want {
		t.Errorf("exit code %d, %q, want %q", code, a.Err.String(), want)
	}
	for _, m := range *members {
		<-m.closed
	}
	wantNoFiles(t, os.Getenv("TMPDIR"))
}

func TestDevKeepsADataDirectory(t *testing.T) {
	t.Parallel()
	a, _, _ := devApp(t)
	dir := filepath.Join(t.TempDir(), "data")
	a.Sent <- interrupt // before it has started
	if code := a.run(t.Context(), "dev", "--data-dir", dir, "--port-base", strconv.Itoa(freeport.Base(t, devPorts))); code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, a.Err.String())
	}
	if kept, err := os.ReadDir(dir); err != nil || len(kept) != 3 {
		t.Errorf("kept %v, %v", kept, err)
	}
}

// The last members to stop have no quorum left, and warn. That is normal for dev.
func TestDevStopsWithoutWarnings(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"error": 0, "warn": 0, "info": 0, "debug": 3} {
		a, opened, members := devApp(t)
		open := a.open
		a.open = func(ctx context.Context, cfg server.Config) (member, error) {
			m, err := open(ctx, cfg)
			(*members)[len(*opened)-1].shut = func(context.Context) error {
				cfg.Logger.Warn("workers not released")
				return nil
			}
			return m, err
		}
		a.Sent <- interrupt // before it has started
		code := a.run(t.Context(), "dev", "--log-level", level, "--data-dir", t.TempDir(), "--port-base", strconv.Itoa(freeport.Base(t, devPorts)))
		if got := strings.Count(a.Err.String(), "workers not released"); code != cli.ExitDone || got != want {
			t.Errorf("--log-level %s: exit code %d, %d warnings, want %d: %s", level, code, got, want, a.Err.String())
		}
	}
}

func TestDevWithoutMembersLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	a, _, members := devApp(t)
	a.Stdout = writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "Press Ctrl-C to stop.") {
			(*members)[0].end(nil)
			(*members)[1].end(errors.New("it was removed"))
			(*members)[2].end(nil)
		}
		return len(p), nil
	})
	code := a.run(t.Context(), "dev", "--port-base", strconv.Itoa(freeport.Base(t, devPorts)))
	for _, want := range []string{"dev-1 has left the cluster\n", "dev-2 stopped: it was removed\n", "snowraft: dev-2: it was removed\n"} {
		if code != cli.ExitFailed || !strings.Contains(a.Err.String(), want) {
			t.Errorf("exit code %d, %q, want %q", code, a.Err.String(), want)
		}
	}
}

func TestDevPortTaken(t *testing.T) {
	t.Parallel()
	base := freeport.Base(t, devPorts)
	var lc net.ListenConfig
	for _, c := range []struct {
		port    int
		network string
	}{{base, "tcp"}, {base + 21, "tcp"}, {base + 24, "tcp"}, {base + 13, "udp"}} {
		address := net.JoinHostPort(cli.Localhost, strconv.Itoa(c.port))
		var taken interface{ Close() error }
		var err error
		if c.network == "udp" {
			taken, err = lc.ListenPacket(t.Context(), c.network, address)
		} else {
			taken, err = lc.Listen(t.Context(), c.network, address)
		}
		if err != nil {
			t.Fatal(err)
		}
		a := newTestApp()
		code := a.run(t.Context(), "dev", "--port-base", strconv.Itoa(base))
		taken.Close()
		before, offered, found := strings.Cut(a.Err.String(), "--port-base ")
		if code != cli.ExitFailed || !found || !strings.HasPrefix(before, "snowraft: port "+strconv.Itoa(c.port)+" cannot be used (address already in use)") {
			t.Fatalf("exit code %d, %q", code, a.Err.String())
		}
		offer, err := strconv.Atoi(strings.TrimSuffix(offered, "\n"))
		if err != nil || offer == base {
			t.Errorf("dev offers %q: %v", offered, err)
		}
	}
}

// issuer issues IDs like the API of a member.
type issuer struct {
	snowraftv1.UnimplementedIdServiceServer
}

func (issuer) GenerateIds(_ context.Context, r *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	resp := &snowraftv1.GenerateIdsResponse{}
	for i := range int64(r.GetCount()) {
		resp.Ids = append(resp.Ids, 249709288400883713+i)
	}
	return resp, nil
}

// startIssuer serves an issuer until the test ends, and returns its address.
func startIssuer(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", cli.Localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	snowraftv1.RegisterIdServiceServer(s, issuer{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
			t.Error(err)
		}
	})
	return l.Addr().String()
}
