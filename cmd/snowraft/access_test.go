package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/trust"
)

// securedAPI is a fake of a secured member. It records the credentials of its last caller.
type securedAPI struct {
	*clitest.API
	dir    string
	secret trust.Secret
	token  string // token with the pin
	bare   string // token without the pin
	caller atomic.Pointer[string]
}

func newSecuredAPI(t *testing.T) *securedAPI {
	t.Helper()
	s := &securedAPI{dir: t.TempDir(), secret: trust.NewSecret()}
	keys, err := trust.NewKeys(s.secret)
	if err != nil {
		t.Fatal(err)
	}
	config := trust.ServerTLS{Keys: keys, MemberID: "a", Hosts: []string{cli.Localhost}, Now: time.Now}.Config()
	s.API = clitest.NewAPI(t, grpc.Creds(credentials.NewTLS(config)))
	s.Before(func(ctx context.Context) error {
		caller := strings.Join(metadata.ValueFromIncomingContext(ctx, "authorization"), ", ")
		if p, ok := peer.FromContext(ctx); ok {
			if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && keys.PeerOf(info.State).Role == trust.RoleAdmin {
				caller = "admin"
			}
		}
		s.caller.Store(&caller)
		return nil
	})
	token := trust.Token{ID: 17, Secret: trust.NewTokenSecret()}
	s.bare = token.Text()
	token.Pin = s.secret.Authority().Pin()
	s.token = token.Text()
	return s
}

// file writes a file of the test and returns its path.
func (s *securedAPI) file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommandsProveThemselves(t *testing.T) {
	t.Parallel()
	s := newSecuredAPI(t)
	secret := s.file(t, "secret", s.secret.Line()+"\n")
	ca := s.file(t, "ca.pem", string(s.secret.Authority().PEM()))
	bearer := "Bearer " + s.token
	for name, c := range map[string]struct {
		environ map[string]string
		args    []string
		want    string
	}{
		"a token":                            {nil, []string{"--token", s.token}, bearer},
		"a token of the environment":         {map[string]string{"SNOWRAFT_TOKEN": s.token}, nil, bearer},
		"a CA":                               {nil, []string{"--ca-file", ca, "--token", s.bare}, "Bearer " + s.bare},
		"a CA alone":                         {nil, []string{"--ca-file", ca}, ""},
		"the secret":                         {nil, []string{"--secret-file", secret}, "admin"},
		"the secret, before the variable":    {map[string]string{"SNOWRAFT_TOKEN": s.token}, []string{"--secret-file", secret}, "admin"},
		"a token, before the variable":       {map[string]string{"SNOWRAFT_SECRET_FILE": secret}, []string{"--token", s.token}, bearer},
		"a token, before that of a variable": {map[string]string{"SNOWRAFT_TOKEN": s.bare}, []string{"--token", s.token}, bearer},
	} {
		s.caller.Store(nil)
		a := newTestApp()
		if c.environ != nil {
			a.Environ = c.environ
		}
		args := append([]string{"id", "--addr", s.Address}, c.args...)
		if code := run(t.Context(), a.Host, args); code != cli.ExitDone || s.caller.Load() == nil || *s.caller.Load() != c.want {
			t.Errorf("%s: exit code %d, %s", name, code, a.Err.String())
		}
	}
}

// A command warns once on standard error about a secret file that other users can read.
func TestReadableSecretFileWarns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(trust.NewSecret().Line()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	warning := "snowraft: warning: other users of this host can read the secret file \"" + file + "\"; set its mode to 600\n"
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o640: 0, 0o644: 1} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"id --addr " + clitest.DeadAddress, "id -o json --addr " + clitest.DeadAddress, "secret list", "secret ca -o json", "bench ids --duration 1ms --clients 1 --addr " + clitest.DeadAddress} {
			stdout, stderr, _ := command(t, append(strings.Fields(line), "--secret-file", file)...)
			if strings.Count(stderr, warning) != want || strings.Contains(stdout, "warning") {
				t.Errorf("mode %o: snowraft %s: %q and %q, want the warning %d times", mode, line, stdout, stderr, want)
			}
		}
	}
}

func TestWrongTransportIsExplained(t *testing.T) {
	t.Parallel()
	s, open := newSecuredAPI(t), clitest.NewAPI(t)
	for _, c := range []struct{ address, want, token string }{
		{s.Address, s.Address + ": the port expects TLS; set --token, --ca-file or --secret-file", ""},
		{open.Address, open.Address + ": the port does not speak TLS; omit --token, --ca-file and --secret-file, or secure the member", s.token},
	} {
		args := []string{"status", "--addr", c.address}
		if c.token != "" {
			args = append(args, "--token", c.token)
		}
		if _, stderr, code := command(t, args...); code != cli.ExitFailed || stderr != "snowraft: "+c.want+"\n" {
			t.Errorf("exit code %d, %q, want %q", code, stderr, c.want)
		}
	}
}

// The terminal does not show a token or a secret in a wrong argument.
func TestErrorsHideTokensAndSecrets(t *testing.T) {
	t.Parallel()
	token := trust.Token{ID: 17, Secret: trust.NewTokenSecret()}.Text()
	line := trust.NewSecret().Line()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(line[:len(line)-1]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"id", token},
		{"id", "--token", token[:len(token)-1]},
		{"id", "--token=" + token + "x"},
		{"id", "--addr", token},
		{"id", "--count", line},
		{"id", "--secret-file", file},
		{"id", "--token", token, "--secret-file", file},
		{"status", "--ca-file", file},
		{"serve", line},
		{"seq", "get", token, token},
		{token},
		{"id", "--" + token},
	} {
		for _, output := range []string{"text", "json"} {
			_, stderr, code := command(t, append([]string{"-o", output}, args...)...)
			if code != cli.ExitUsage || strings.Contains(stderr, token[12:40]) || strings.Contains(stderr, line[20:40]) {
				t.Errorf("snowraft %s: exit code %d, %s", args[0], code, stderr)
			}
		}
	}
	a := newTestApp()
	a.Environ = map[string]string{"SNOWRAFT_TOKEN": token + "x"}
	if code := run(t.Context(), a.Host, []string{"id"}); code != cli.ExitUsage || strings.Contains(a.Err.String(), token[12:40]) {
		t.Errorf("exit code %d, %s", code, a.Err.String())
	}
}
