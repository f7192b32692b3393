package serve

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server"
)

// loaded returns the configuration with which serve would start a member.
func loaded(t *testing.T, environ map[string]string, file string, args ...string) config {
	t.Helper()
	a := newTestApp()
	a.Environ = environ
	if file != "" {
		path := filepath.Join(t.TempDir(), "snowraft.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	var cfg config
	cmd := &cobra.Command{Use: "serve"}
	addFlags(cmd, &cfg)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := a.loadServeConfig(cmd, &cfg); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// settings lists all settings of serve, with three values of each.
var settings = []struct {
	name  string
	texts [3]string
	get   func(config) any
	want  [4]any // the default, or 0 if the setting applies only if given; then the values of texts
}{
	{"name", [3]string{"a", "b", "c"}, func(c config) any { return c.Name }, [4]any{hostname(), "a", "b", "c"}},
	{"data-dir", [3]string{"/a", "/b", "/c"}, func(c config) any { return c.DataDir }, [4]any{"./snowraft-data", "/a", "/b", "/c"}},
	{"api-addr", [3]string{"a:1", "b:1", ":1"}, func(c config) any { return c.APIAddr }, [4]any{"127.0.0.1:7700", "a:1", "b:1", ":1"}},
	{"http-addr", [3]string{"a:1", "b:0", "c:1"}, func(c config) any { return c.HTTPAddr }, [4]any{"127.0.0.1:7701", "a:1", "b:0", "c:1"}},
	{"raft-addr", [3]string{"a:1", "b:1", "[::1]:1"}, func(c config) any { return c.RaftAddr }, [4]any{"127.0.0.1:7702", "a:1", "b:1", "[::1]:1"}},
	{"gossip-addr", [3]string{"a:1", "b:1", "c:1"}, func(c config) any { return c.GossipAddr }, [4]any{"127.0.0.1:7703", "a:1", "b:1", "c:1"}},
	{"redis-addr", [3]string{"a:1", "b:1", ""}, func(c config) any { return c.RedisAddr }, [4]any{"", "a:1", "b:1", ""}},
	{"thrift-addr", [3]string{"a:1", "b:1", ""}, func(c config) any { return c.ThriftAddr }, [4]any{"", "a:1", "b:1", ""}},
	{"http-socket", [3]string{"/a", "/b", ""}, func(c config) any { return c.HTTPSocket.Path }, [4]any{"", "/a", "/b", ""}},
	{"http-socket-mode", [3]string{"0660", "777", "0666"}, func(c config) any { return c.HTTPSocket.Mode }, [4]any{fs.FileMode(0o600), fs.FileMode(0o660), fs.FileMode(0o777), fs.FileMode(0o666)}},
	{"redis-socket", [3]string{"/a", "/b", ""}, func(c config) any { return c.RedisSocket.Path }, [4]any{"", "/a", "/b", ""}},
	{"redis-socket-mode", [3]string{"0660", "777", "0666"}, func(c config) any { return c.RedisSocket.Mode }, [4]any{fs.FileMode(0o600), fs.FileMode(0o660), fs.FileMode(0o777), fs.FileMode(0o666)}},
	{"http-hosts", [3]string{"a", "a,b.example", "b, ::1"}, func(c config) any { return c.HTTPHosts }, [4]any{[]string(nil), []string{"a"}, []string{"a", "b.example"}, []string{"b", "::1"}}},
	{"advertise-host", [3]string{"a", "10.0.0.1", "::1"}, func(c config) any { return c.AdvertiseHost }, [4]any{"", "a", "10.0.0.1", "::1"}},
	{"secret-file", [3]string{"/a", "/b", "/c"}, func(c config) any { return c.secretFile }, [4]any{"", "/a", "/b", "/c"}},
	{"audit-log", [3]string{"/a", "/b", "/c"}, func(c config) any { return c.auditLog }, [4]any{"", "/a", "/b", "/c"}},
	{"client-tls", [3]string{"false", "true", "false"}, func(c config) any { return c.ClientTLS }, [4]any{true, false, true, false}},
	{"tls-hosts", [3]string{"a", "a,10.0.0.1", "b, ::1"}, func(c config) any { return c.TLSHosts }, [4]any{[]string(nil), []string{"a"}, []string{"a", "10.0.0.1"}, []string{"b", "::1"}}},
	{"tls-cert", [3]string{"/a", "/b", "/c"}, func(c config) any { return c.certFile }, [4]any{"", "/a", "/b", "/c"}},
	{"tls-key", [3]string{"/a", "/b", "/c"}, func(c config) any { return c.keyFile }, [4]any{"", "/a", "/b", "/c"}},
	{"insecure", [3]string{"true", "false", "true"}, func(c config) any { return c.Insecure }, [4]any{false, true, false, true}},
	{"join", [3]string{"a:1", "a:1,b:2", "c:3, d:4"}, func(c config) any { return c.Join }, [4]any{[]string(nil), []string{"a:1"}, []string{"a:1", "b:2"}, []string{"c:3", "d:4"}}},
	{"bootstrap-expect", [3]string{"0", "3", "5"}, func(c config) any { return c.BootstrapExpect }, [4]any{1, 0, 3, 5}},
	{"nonvoter", [3]string{"true", "false", "true"}, func(c config) any { return c.Nonvoter }, [4]any{false, true, false, true}},
	{"force-name", [3]string{"true", "false", "true"}, func(c config) any { return c.ForceName }, [4]any{false, true, false, true}},
	{"promote-after", [3]string{"1s", "1m", "24h"}, func(c config) any { return c.Timing.PromoteAfter }, [4]any{30 * time.Second, time.Second, time.Minute, 24 * time.Hour}},
	{"lanes", [3]string{"2", "3", "64"}, func(c config) any { return c.Lanes }, [4]any{1, 2, 3, 64}},
	{"initial-max-window", [3]string{"1s", "1m", "24h"}, func(c config) any { return c.MaxWindow }, [4]any{time.Duration(0), time.Second, time.Minute, 24 * time.Hour}},
	{"initial-wait-threshold", [3]string{"1ms", "2s", "1m"}, func(c config) any { return c.WaitThreshold }, [4]any{time.Duration(0), time.Millisecond, 2 * time.Second, time.Minute}},
	{"initial-rollback", [3]string{"swap", "refuse", "swap"}, func(c config) any { return c.Rollback }, [4]any{"", "swap", "refuse", "swap"}},
	{"initial-max-clock-offset", [3]string{"1ms", "2s", "1m"}, func(c config) any { return c.MaxClockOffset }, [4]any{time.Duration(0), time.Millisecond, 2 * time.Second, time.Minute}},
	{"initial-redis-create", [3]string{"relaxed", "off", "strict"}, func(c config) any { return c.RedisCreate }, [4]any{"", "relaxed", "off", "strict"}},
	{"initial-upgrades", [3]string{"manual", "auto", "manual"}, func(c config) any { return c.Upgrades }, [4]any{"", "manual", "auto", "manual"}},
	{"backup-to", [3]string{"/a", "s3://b/c", "/c"}, func(c config) any { return c.backups.to }, [4]any{"", "/a", "s3://b/c", "/c"}},
	{"backup-every", [3]string{"1m", "2h", "24h"}, func(c config) any { return c.backups.Every }, [4]any{time.Hour, time.Minute, 2 * time.Hour, 24 * time.Hour}},
	{"backup-keep", [3]string{"1", "2", "10000"}, func(c config) any { return c.backups.Keep }, [4]any{168, 1, 2, 10_000}},
	{"backup-max-age", [3]string{"1m", "45d", "0"}, func(c config) any { return c.backups.MaxAge }, [4]any{time.Duration(0), time.Minute, 45 * 24 * time.Hour, time.Duration(0)}},
	{"log-level", [3]string{"debug", "warn", "error"}, func(c config) any { return c.logLevel }, [4]any{"info", "debug", "warn", "error"}},
	{"log-format", [3]string{"json", "text", "json"}, func(c config) any { return c.logFormat }, [4]any{"text", "json", "text", "json"}},
	{"trace-slower-than", [3]string{"1ms", "0s", "1h"}, func(c config) any { return c.slowerThan }, [4]any{250 * time.Millisecond, time.Millisecond, time.Duration(0), time.Hour}},
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	for _, s := range settings {
		file := s.name + ": \"" + s.texts[0] + "\"\n"
		env := map[string]string{cli.EnvName(s.name): s.texts[1]}
		flag := "--" + s.name + "=" + s.texts[2]
		for i, cfg := range []config{
			loaded(t, nil, ""), loaded(t, nil, file), loaded(t, env, file), loaded(t, env, file, flag),
		} {
			if got := s.get(cfg); !reflect.DeepEqual(got, s.want[i]) {
				t.Errorf("%s from %s: %v, want %v", s.name, []string{"default", "file", "environment", "flag"}[i], got, s.want[i])
			}
		}
		if got := s.get(loaded(t, map[string]string{cli.EnvName(s.name): ""}, file)); !reflect.DeepEqual(got, s.want[1]) {
			t.Errorf("%s: an empty variable means %v, want %v like a missing variable", s.name, got, s.want[1])
		}
	}
}

func TestSettingsAreComplete(t *testing.T) {
	t.Parallel()
	var cfg config
	cmd := &cobra.Command{Use: "serve"}
	addFlags(cmd, &cfg)
	var tested []string
	for _, s := range settings {
		tested = append(tested, s.name)
	}
	found := settingNames(cmd.Flags())
	for _, name := range found {
		f := cmd.Flags().Lookup(name)
		if !strings.Contains(f.Usage, "(env "+cli.EnvName(name)+")") || len(f.Annotations[cli.FlagGroup]) == 0 {
			t.Errorf("--%s: help %q, group %v", name, f.Usage, f.Annotations[cli.FlagGroup])
		}
	}
	if len(found) != len(tested) {
		t.Errorf("the settings are %v, those tested %v", found, tested)
	}
	for _, name := range []string{"max-window", "wait-threshold", "rollback", "max-clock-offset"} {
		if help := cmd.Flags().Lookup("initial-" + name).Usage; !strings.Contains(help, "new cluster") || !strings.Contains(help, "snowraft config set") {
			t.Errorf("--initial-%s: the help does not say when it counts: %s", name, help)
		}
	}
}

func TestConfigFileNamedByEnvironment(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("# all of it\nlanes: 7\njoin:\n- a:7703\n- b:7703\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := loaded(t, map[string]string{"SNOWRAFT_CONFIG": path}, "")
	if cfg.Lanes != 7 || !reflect.DeepEqual(cfg.Join, []string{"a:7703", "b:7703"}) {
		t.Errorf("lanes %d, join %v", cfg.Lanes, cfg.Join)
	}
	if cfg := loaded(t, nil, "# nothing\n"); cfg.Lanes != 1 {
		t.Errorf("lanes %d after an empty file", cfg.Lanes)
	}
}

func TestDefaultsThatDependOnOthers(t *testing.T) {
	t.Parallel()
	if cfg := loaded(t, nil, "", "--join", "a:1"); cfg.BootstrapExpect != 0 {
		t.Errorf("with --join, bootstrap-expect is %d, want 0", cfg.BootstrapExpect)
	}
	if cfg := loaded(t, nil, "", "--join", "a:1", "--bootstrap-expect", "3"); cfg.BootstrapExpect != 3 {
		t.Errorf("bootstrap-expect is %d, want 3", cfg.BootstrapExpect)
	}
	cfg := loaded(t, map[string]string{"SNOWRAFT_ADVERTISE_HOST": "a.example"}, "http-addr: 127.0.0.1:8080\n", "--api-addr", "127.0.0.1:9")
	got := []string{cfg.APIAddr, cfg.HTTPAddr, cfg.RaftAddr, cfg.GossipAddr, cfg.RedisAddr}
	if want := []string{"127.0.0.1:9", "127.0.0.1:8080", ":7702", ":7703", ""}; !reflect.DeepEqual(got, want) {
		t.Errorf("with --advertise-host the addresses are %v, want %v", got, want)
	}
}

func TestServePassesItsConfigOn(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	var got server.Config
	a.open = func(_ context.Context, cfg server.Config) (member, error) {
		got = cfg
		return nil, errors.New("the data directory is not writable")
	}
	code := a.run(t.Context(), "serve", "--name", "a", "--lanes", "4", "--bootstrap-expect", "3", "--redis-addr", ":0", "--insecure", "--initial-redis-create", "off")
	if want := "snowraft: the data directory is not writable\n"; code != cli.ExitFailed || a.Err.String() != want {
		t.Errorf("exit code %d, %q, want %q", code, a.Err.String(), want)
	}
	if got.Name != "a" || got.Lanes != 4 || got.BootstrapExpect != 3 || got.RedisAddr != ":0" || got.RedisCreate != "off" || got.Logger == nil || got.Version == "" {
		t.Errorf("the member is opened with %+v", got)
	}
}
