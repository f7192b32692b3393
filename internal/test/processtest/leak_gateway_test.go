//go:build process

package processtest

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/trust"
)

// gateway starts a gateway with its own token, and sends the requests to members through it.
func (s *secretive) gateway(t *testing.T) *member {
	t.Helper()
	own := s.members[0].firstToken("gateway", "tokens:verify", "ids:issue:*", "seq:next:*")
	token, err := trust.ParseToken(own)
	if err != nil {
		t.Fatal(err)
	}
	s.secrets["the token of the gateway"] = token.Secret[:]
	audit, redis := filepath.Join(t.TempDir(), "audit.log"), freeport.Address(t)
	g := newMember(t, "g1", "--redis-addr", redis, "--log-level", "debug", "--audit-log", audit)
	g.gateway([]string{"SNOWRAFT_TOKEN=" + own}, s.members...)
	until(t, "the gateway is ready", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.http+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	s.web(t, "http://"+g.http, nil)
	s.redis(t, redis, nil)
	plain := s.token // a client with a pin uses TLS
	plain.Pin = ""
	for _, args := range [][]string{{"token", "list"}, {"token", "create", "by-gateway", "--scope", "ids:issue:*"}, {"seq", "next", "orders"}, {"status"}} {
		stdout, stderr, code := command(t, append(at(g), "SNOWRAFT_TOKEN="+plain.Text()), args...)
		if (code == 0) != (args[0] != "status") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		s.add("snowraft "+strings.Join(args, " "), []byte(stdout+stderr))
	}
	lines, err := os.ReadFile(audit)
	if err != nil || !bytes.Contains(lines, []byte("by-gateway")) {
		t.Errorf("the gateway's audit log: %s, %v", lines, err)
	}
	s.add("the audit log of the gateway", lines)
	return g
}
