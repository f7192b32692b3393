package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server/gateway"
	"github.com/snowraft/snowraft/server/socket"
	"github.com/snowraft/snowraft/trust"
)

func TestGatewayUntilSignal(t *testing.T) {
	t.Parallel()
	a, g := newTestApp(), newFakeMember()
	opened := make(chan gateway.Config, 1)
	a.openGateway = func(_ context.Context, cfg gateway.Config) (process, error) {
		opened <- cfg
		return g, nil
	}
	a.Environ["SNOWRAFT_MEMBERS"] = "a:1,b:2"
	a.Environ["SNOWRAFT_ADDR"] = "127.0.0.1:7700" // address of the gateway, for client commands
	a.Environ["SNOWRAFT_REDIS_ADDR"] = ":7704"
	file := filepath.Join(t.TempDir(), "g.yaml")
	if err := os.WriteFile(file, []byte("name: front\nhttp-addr: :80\nredis-addr: :1\nthrift-addr: :7609\ninsecure: true\nredis-socket: /run/redis.sock\nredis-socket-mode: 0660\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code := make(chan int, 1)
	go func() {
		code <- a.run(t.Context(), "gateway", "--config", file)
	}()
	cfg := <-opened
	cfg.Logger = nil
	if want := (gateway.Config{
		Name: "front", Members: []string{"a:1", "b:2"}, APIAddr: "127.0.0.1:7700", HTTPAddr: ":80", RedisAddr: ":7704", ThriftAddr: ":7609",
		HTTPSocket: socket.File{Mode: socket.DefaultMode}, RedisSocket: socket.File{Path: "/run/redis.sock", Mode: 0o660},
		Version: a.Version,
	}); !reflect.DeepEqual(cfg, want) {
		t.Errorf("the gateway is %+v, want %+v", cfg, want)
	}
	a.Sent <- interrupt
	if code := <-code; code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, a.Err.String())
	}
	<-g.closed
	for _, want := range []string{"gateway started", "api=127.0.0.1:1", "http=127.0.0.1:2", "redis=127.0.0.1:5", "redis_socket=/run/redis.sock", "gateway stopping", "gateway stopped"} {
		if !strings.Contains(a.Err.String(), want) {
			t.Errorf("the log has no %q: %s", want, a.Err.String())
		}
	}
}

// Servers collect garbage less often than with Go's default, unless the environment configures the collector.
func TestServersCollectSeldom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variable string
		want     []int
	}{{"", []int{gcPercent}}, {"GOGC", nil}, {"GOMEMLIMIT", nil}} {
		for _, line := range []string{"serve --data-dir x", "gateway --members a:1"} {
			a := newTestApp() // servers not started
			if c.variable != "" {
				a.Environ[c.variable] = "1"
			}
			a.run(t.Context(), strings.Fields(line)...)
			if !slices.Equal(a.percents, c.want) {
				t.Errorf("%s with %q set: %v, want %v", line, c.variable, a.percents, c.want)
			}
		}
	}
}

// Servers use nine tenths of the memory of their control group, unless the environment sets a limit.
func TestServersLimitTheirMemory(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string][]int64{"": {900}, "GOGC": {900}, "GOMEMLIMIT": nil} {
		for _, line := range []string{"serve --data-dir x", "gateway --members a:1"} {
			a := newTestApp() // servers not started
			a.files["proc/self/mountinfo"] = &fstest.MapFile{Data: []byte("30 25 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n")}
			a.files["proc/self/cgroup"] = &fstest.MapFile{Data: []byte("0::/\n")}
			a.files["sys/fs/cgroup/memory.max"] = &fstest.MapFile{Data: []byte("1000\n")}
			if variable != "" {
				a.Environ[variable] = "1"
			}
			a.run(t.Context(), strings.Fields(line)...)
			if !slices.Equal(a.limits, want) {
				t.Errorf("%s with %q set: limits %v, want %v", line, variable, a.limits, want)
			}
		}
	}
}

// A gateway writes administrative calls to the audit file, if one is set.
func TestGatewayAuditsToItsFile(t *testing.T) {
	t.Parallel()
	a, g := newTestApp(), newFakeMember()
	a.openGateway = func(_ context.Context, cfg gateway.Config) (process, error) {
		cfg.AuditLog.Write(trust.AuditLine{Method: "an.administrative/Call"})
		g.end(nil)
		return g, nil
	}
	path := filepath.Join(t.TempDir(), "audit.log")
	if code := a.run(t.Context(), "gateway", "--members", "a:1", "--audit-log", path); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, a.Err.String())
	}
	if lines, err := os.ReadFile(path); err != nil || !strings.Contains(string(lines), "an.administrative/Call") {
		t.Errorf("%s: %v", lines, err)
	}
	if code := newTestApp().run(t.Context(), "gateway", "--members", "a:1", "--audit-log", t.TempDir()); code != cli.ExitUsage {
		t.Errorf("a directory as the file: exit code %d", code)
	}
}

func TestGatewayThatCannotStart(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	a.openGateway = func(context.Context, gateway.Config) (process, error) {
		return nil, errors.New("the port is taken")
	}
	if code := a.run(t.Context(), "gateway", "--members", "a:1"); code != cli.ExitFailed || !strings.Contains(a.Err.String(), "the port is taken") {
		t.Errorf("exit code %d: %s", code, a.Err.String())
	}
}

func TestGatewayThatEnds(t *testing.T) {
	t.Parallel()
	a, g := newTestApp(), newFakeMember()
	a.openGateway = func(context.Context, gateway.Config) (process, error) { return g, nil }
	g.end(errors.New("a listener broke"))
	if code := a.run(t.Context(), "gateway", "--members", "a:1"); code != cli.ExitFailed || !strings.Contains(a.Err.String(), "a listener broke") {
		t.Errorf("exit code %d: %s", code, a.Err.String())
	}
}

// Browsers need a token in front of a secured cluster, and then no check of host names. A list of names would promise one.
func TestGatewayRefusesHostNamesBesideAToken(t *testing.T) {
	t.Parallel()
	token := trust.Token{ID: 1, Secret: trust.NewTokenSecret()}.Text()
	a := newTestApp()
	if code := a.run(t.Context(), "gateway", "--members", "a:1", "--token", token, "--http-hosts", "b"); code != cli.ExitUsage || !strings.Contains(a.Err.String(), "--http-hosts cannot be combined with --token") {
		t.Errorf("exit code %d: %s", code, a.Err.String())
	}
}
