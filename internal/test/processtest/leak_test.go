//go:build process

package processtest

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// secretive is a secured cluster that logs as much as possible, with all its output.
type secretive struct {
	members []*member
	secrets marked
	out     map[string][]byte
	token   trust.Token
	wrong   trust.Token // token with the ID of token and another secret
	config  *tls.Config
}

func (s *secretive) add(where string, out []byte) { s.out[where] = append(s.out[where], out...) }

// TestSecretsStayInside uses each command and protocol that takes a secret, with correct and wrong secrets, and searches the output.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	flags := secretFile(t)
	members := newCluster(t, 3, append(flags, "--log-level", "debug", "--initial-max-window", "3s")...)
	for _, m := range members {
		m.flags = append(m.flags, "--audit-log", filepath.Join(filepath.Dir(m.dir), "audit.log"))
	}
	redis := members[0].listenRedis()
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	s := &secretive{members: members, secrets: make(marked), out: make(map[string][]byte)}
	s.secret(t, flags[1])

	s.tokens(t, flags)
	s.holders(t)
	s.web(t, "https://"+members[0].http, s.config)
	s.refused(t)
	s.redis(t, redis, s.config)
	s.codes(t, flags)
	s.look(t, flags)
	file := s.backup(t, "a backup", append([]string{"--addr", members[1].api}, flags...)...)
	s.debug(t, "a debug archive", append([]string{"--addr", members[1].api, "--seconds", "1"}, flags...)...)
	gateway := s.gateway(t)
	longLog(t, leader(t, members), 5000)
	until(t, "m1 has a snapshot", func() bool {
		found, err := filepath.Glob(filepath.Join(members[0].dir, "snapshots", "*-*", "state.bin"))
		return err == nil && len(found) > 0 && !strings.Contains(found[0], ".tmp")
	})
	for i, m := range members {
		if i == 2 {
			quit(t, m)
		} else {
			m.stop()
		}
		s.add("the log of "+m.name, []byte(m.stderr.String()+m.stdout.String()))
		s.directory(t, m.name, m.dir)
		audit, err := os.ReadFile(filepath.Join(filepath.Dir(m.dir), "audit.log"))
		if err != nil {
			t.Fatal(err)
		}
		s.add("audit logs", audit)
	}
	s.restore(t, s.backup(t, "a backup of a directory", "--data-dir", members[1].dir), flags)
	gateway.stop()
	s.add("the log of the gateway", []byte(gateway.stderr.String()+gateway.stdout.String()))
	if !bytes.Contains(s.out["the log of the gateway"], []byte("gateway started")) {
		t.Error("the gateway logged too little")
	}
	if !bytes.Contains(s.out["audit logs"], []byte("CreateToken")) {
		t.Error("no creation of a token was audited")
	}
	if len(s.out["the log of m1"]) < 1000 || !bytes.Contains(s.out["the log of m1"], []byte("DEBUG")) {
		t.Error("m1 logged too little")
	}
	if len(s.out["m1/state.bin"]) == 0 {
		t.Error("no snapshot was searched")
	}
	s.search(t)
	s.ofState(t, file)
}

// search searches all output.
func (s *secretive) search(t *testing.T) {
	t.Helper()
	for where, out := range s.out {
		s.secrets.search(t, where, out)
	}
}

// backup writes a backup and returns its file.
func (s *secretive) backup(t *testing.T, where string, flags ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup")
	mustRun(t, append([]string{"backup", file}, flags...)...)
	raw, err := os.ReadFile(file)
	if err != nil || len(raw) < 1000 {
		t.Fatalf("%s has %d bytes: %v", where, len(raw), err)
	}
	s.add(where, raw)
	return file
}

// tokens creates a token, and uses a wrong one.
func (s *secretive) tokens(t *testing.T, flags []string) {
	t.Helper()
	m := s.members[0]
	stdout, stderr, code := command(t, at(m), append([]string{"token", "create", "all", "--scope", "tokens:admin", "--scope", "seq:next:*", "--scope", "seq:admin:*"}, flags...)...)
	if code != 0 {
		t.Fatal(stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var err error
	if s.token, err = trust.ParseToken(lines[len(lines)-1]); err != nil {
		t.Fatal(err)
	}
	s.secrets["the token"] = s.token.Secret[:]
	if s.config, err = (trust.ClientTLS{Token: s.token.Text()}).Config(); err != nil {
		t.Fatal(err)
	}
	s.wrong = trust.Token{ID: s.token.ID, Secret: [32]byte(random(t, 32)), Pin: s.token.Pin}
	s.secrets["the wrong token"] = s.wrong.Secret[:]
	for _, text := range []string{s.token.Text(), s.wrong.Text(), s.wrong.Text()[:40]} {
		env := append(at(m), "SNOWRAFT_TOKEN="+text)
		for _, args := range [][]string{{"token", "list"}, {"seq", "create", "orders", "--mode", "relaxed"}, {"id"}, {"status"}} {
			stdout, stderr, _ := command(t, env, args...)
			s.add("snowraft "+args[0], []byte(stdout+stderr))
			stdout, stderr, _ = command(t, at(m), append(args, "--token", text)...)
			s.add("snowraft "+args[0]+" --token", []byte(stdout+stderr))
		}
	}
	s.secrets["half of the wrong token"] = []byte(s.wrong.Text()[14:40])
}

// holders acquires a worker and allocates a block, with correct and wrong keys.
func (s *secretive) holders(t *testing.T) {
	t.Helper()
	m := s.members[1]
	nonce, key := random(t, 16), random(t, 16)
	s.secrets["the nonce"], s.secrets["the return key"] = nonce, key
	worker, err := m.workers.AcquireWorker(t.Context(), &snowraftv1.AcquireWorkerRequest{
		Layout: "default", Holder: "h", Nonce: nonce, ClockAtMs: time.Now().UnixMilli(), WindowMs: 5000,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range [][]byte{nonce, random(t, 16)} {
		_, err := m.workers.ExtendWindow(t.Context(), &snowraftv1.ExtendWindowRequest{
			Layout: "default", Worker: worker.GetGrant().GetWorker(), Token: worker.GetGrant().GetToken(), Nonce: n,
			UntilTick: worker.GetGrant().GetUntilTick(), ClockAtMs: time.Now().UnixMilli(), WindowMs: 5000, ExtensionId: 7,
		})
		s.add("an extension", fmt.Append(nil, err))
	}
	block, err := m.numbers.AllocateBlock(t.Context(), &snowraftv1.AllocateBlockRequest{Sequence: "orders", Count: 100, ReturnKey: key})
	if err != nil {
		t.Error(err)
	}
	s.add("a block", fmt.Append(nil, block))
	_, err = m.numbers.ReturnBlock(t.Context(), &snowraftv1.ReturnBlockRequest{Sequence: "orders", Token: block.GetBlock().GetToken(), Unused: 1, ReturnKey: key})
	if err != nil {
		t.Error(err)
	}
	list, err := m.workers.ListWorkers(t.Context(), &snowraftv1.ListWorkersRequest{})
	s.add("the workers", fmt.Append(nil, list, err))
}

// web sends the token over HTTP, in each accepted form.
func (s *secretive) web(t *testing.T, address string, config *tls.Config) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config.Clone()}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	for _, c := range []struct{ method, path, token string }{
		{http.MethodPost, "/v1/sequences:next", s.token.Text()},
		{http.MethodPost, "/v1/sequences:next", s.token.Text() + "x"},
		{http.MethodPost, "/v1/sequences:next", s.wrong.Text()},
		{http.MethodGet, "/v1/tokens/all", s.token.Text()},
		{http.MethodGet, "/tinyid/id/nextIdSimple?bizType=orders&token=" + s.token.Text(), ""},
		{http.MethodGet, "/tinyid/id/nextIdSimple?bizType=" + s.wrong.Text() + "&token=" + s.wrong.Text(), ""},
		{http.MethodGet, "/tinyid/id/nextIdSimple?bizType=" + s.wrong.Text() + "&token=" + s.token.Text(), ""},
		{http.MethodGet, "/v1/status?token=" + s.token.Text(), ""},
		{http.MethodGet, "/metrics", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, address+c.path, strings.NewReader(`{"sequence":"orders","count":1}`))
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if c.token == s.token.Text() && resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %s", c.path, resp.Status, body)
		}
		path, _, _ := strings.Cut(c.path, "?")
		s.add("the answer to "+path, fmt.Appendf(body, "%v", resp.Header))
	}
}

// redis sends the token over the Redis protocol, with TLS if config is not nil.
func (s *secretive) redis(t *testing.T, address string, config *tls.Config) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		conn = tls.Client(conn, config)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	for _, c := range []string{"AUTH wrong", "AUTH " + s.wrong.Text(), "AUTH " + s.token.Text(), "HELLO 2 AUTH default " + s.token.Text(), "INCR orders", "GET " + s.wrong.Text(), "INCR " + s.wrong.Text(), s.wrong.Text(), "CLIENT " + s.wrong.Text(), "CLIENT LIST", "INFO", "QUIT"} {
		if _, err := fmt.Fprintf(conn, "%s\r\n", c); err != nil {
			t.Fatal(err)
		}
	}
	answers, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(answers, []byte("+OK")) {
		t.Errorf("the token was not accepted: %q", answers)
	}
	s.add("Redis", answers)
}

// look requests the state, the lists and the settings of the cluster.
func (s *secretive) look(t *testing.T, flags []string) {
	t.Helper()
	for _, args := range [][]string{{"status"}, {"token", "list"}, {"worker", "list"}, {"member", "list"}, {"config", "show"}, {"secret", "list"}, {"secret", "ca"}} {
		stdout, stderr, _ := command(t, at(s.members[2]), append(args, flags...)...)
		s.add("snowraft "+strings.Join(args, " "), []byte(stdout+stderr))
	}
	conn, err := grpc.NewClient("passthrough:///"+s.members[2].api, grpc.WithTransportCredentials(credentials.NewTLS(s.config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	status, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(t.Context(), &snowraftv1.GetStatusRequest{})
	s.add("a refusal", fmt.Append(nil, status, err))
}

// directory collects the files of a process that has stopped.
func (s *secretive) directory(t *testing.T, name, dir string) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		found++
		s.add(name+"/"+d.Name(), raw)
		return err
	})
	if err != nil || found < 2 {
		t.Errorf("%d files of %s: %v", found, name, err)
	}
}
