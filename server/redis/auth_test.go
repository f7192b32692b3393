package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/trust"
)

// tokens is a trust.Table in memory.
type tokens struct {
	mu       sync.Mutex
	revision uint64
	records  map[uint64]*trust.Record
	texts    map[trust.Scope]string
}

// newTokens returns a table with one token for each scope.
func newTokens(scopes ...trust.Scope) *tokens {
	ts := &tokens{records: map[uint64]*trust.Record{0: {Scopes: []trust.Scope{"metrics:read"}}}, texts: map[trust.Scope]string{}}
	for i, scope := range scopes {
		token := trust.Token{ID: uint64(i) + 1, Secret: trust.NewTokenSecret()}
		ts.records[token.ID] = &trust.Record{ID: token.ID, Name: fmt.Sprint("t", i), Hash: trust.HashTokenSecret(token.Secret), Scopes: []trust.Scope{scope}}
		ts.texts[scope] = token.Text()
	}
	return ts
}

func (ts *tokens) change(f func()) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	f()
	ts.revision++
}

func (ts *tokens) TokenRevision() uint64 {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.revision
}

func (ts *tokens) Token(id uint64) (*trust.Record, bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	r, ok := ts.records[id]
	return r, ok
}

func (ts *tokens) Anonymous() *trust.Record {
	r, _ := ts.Token(0)
	return r
}

func (*tokens) NeverIssued(uint64) bool                    { return false }
func (*tokens) AwaitApplied(context.Context, uint64) error { return nil }
func (*tokens) CaughtUp() bool                             { return true }
func (*tokens) NowMillis() int64                           { return 1 }

// TestRights sends every command without a token, with a wrong, expired or revoked token, and with a token of each scope.
func TestRights(t *testing.T) {
	t.Parallel()
	ts := newTokens(append([]trust.Scope{"expired token", "revoked token"}, scopes...)...)
	ts.change(func() {
		for _, id := range []uint64{1, 2} { // both had every right
			ts.records[id].Scopes = []trust.Scope{"seq:next:*", "seq:read:*", "seq:admin:*", "ids:issue:*", "tokens:admin"}
		}
		ts.records[1].ExpiresAtMillis = ts.NowMillis()
		delete(ts.records, 2)
	})
	addr := startJudging(t, ts)
	const always = "always"
	for name, tc := range map[string]struct {
		sent string
		// by names the requirement for a caller: a right, any token, or nothing.
		by string
	}{
		"incr": {"INCR orders/a", trust.RightNextNumbers}, "incrby": {"INCRBY orders/b 2", trust.RightNextNumbers},
		"get": {"GET orders/a", trust.RightReadSequence}, "exists": {"EXISTS orders/a", trust.RightReadSequence},
		"snowraft.id": {"SNOWRAFT.ID", trust.RightIssueIDs}, "snowraft.next": {"SNOWRAFT.NEXT orders/a", trust.RightNextNumbers},
		"set": {"SET orders/a 0 NX", trust.RightReadSequence}, "setnx": {"SETNX orders/a 0", trust.RightReadSequence},
		"multi": {"MULTI", trust.RightAny}, "exec": {"EXEC", trust.RightAny}, "discard": {"DISCARD", trust.RightAny},
		"expire": {"EXPIRE orders/a 9", trust.RightAny}, "pexpire": {"PEXPIRE orders/a 9", trust.RightAny},
		"expireat": {"EXPIREAT orders/a 9999999999", trust.RightAny}, "pexpireat": {"PEXPIREAT orders/a 9999999999999", trust.RightAny},
		"ping": {"PING", trust.RightAny}, "echo": {"ECHO x", trust.RightAny}, "select": {"SELECT 0", trust.RightAny},
		"client": {"CLIENT ID", trust.RightAny}, "command": {"COMMAND COUNT", trust.RightAny}, "config": {"CONFIG GET save", trust.RightAny},
		"info": {"INFO", trust.RightAny}, "time": {"TIME", trust.RightAny}, "unknown": {"DEL a", trust.RightAny}, "none": {"FOO", trust.RightAny},
		"hello": {"HELLO 2", always}, "reset": {"RESET", always}, "quit": {"QUIT", always}, "auth": {"AUTH wrong", always},
	} {
		for _, scope := range append([]trust.Scope{"no token", "wrong token", "expired token", "revoked token"}, scopes...) {
			c := dial(t, addr)
			r := c.reader()
			switch scope {
			case "no token":
			case "wrong token", "expired token", "revoked token":
				text := ts.texts[scope]
				if scope == "wrong token" {
					text = ts.texts["cluster:read"] + "x"
				}
				c.send("AUTH " + text + "\r\n")
				if got := r.line(); !strings.HasPrefix(got, "-WRONGPASS ") {
					t.Errorf("AUTH: got %q", got)
				}
			default:
				c.send("AUTH " + ts.texts[scope] + "\r\n")
				if got := r.line(); got != "+OK" {
					t.Errorf("AUTH: got %q", got)
				}
			}
			c.send(tc.sent + "\r\n")
			got := r.line()
			_ = c.Close()
			right, resource, _ := strings.Cut(string(scope), ":")
			action, _, _ := strings.Cut(resource, ":")
			right += ":" + action
			want := ""
			switch {
			case tc.by == always:
			case strings.HasSuffix(string(scope), " token"):
				want = "-NOAUTH "
			case tc.by != trust.RightAny && (right != tc.by || scope == "seq:next:other"):
				want = "-NOPERM "
			}
			refused := strings.HasPrefix(got, "-NOAUTH ") || strings.HasPrefix(got, "-NOPERM ")
			if want != "" && !strings.HasPrefix(got, want) || want == "" && refused {
				t.Errorf("%s with %s: got %q, want %q", name, scope, got, want)
			}
			if strings.Contains(got, "snowraft_") {
				t.Errorf("%s: %q has a token", name, got)
			}
		}
	}
}

// Each implemented command is in the table above.
func TestRightsAreComplete(t *testing.T) {
	t.Parallel()
	named := []string{"auth", "client", "command", "config", "discard", "echo", "exec", "exists", "expire", "expireat", "get", "hello", "incr", "incrby",
		"info", "multi", "pexpire", "pexpireat", "ping", "quit", "reset", "select", "set", "setnx", "snowraft.id", "snowraft.next", "time"}
	if got := redis.Commands(); !slices.Equal(got, named) {
		t.Errorf("commands are %q: add them to TestRights", got)
	}
}

func TestAuth(t *testing.T) {
	t.Parallel()
	ts := newTokens("seq:next:*", "seq:read:*")
	addr := startJudging(t, ts)
	next, read := ts.texts["seq:next:*"], ts.texts["seq:read:*"]
	for _, tc := range []struct{ sent, want string }{
		{"AUTH " + next, "+OK"},
		{"AUTH default " + next, "+OK"},
		{"AUTH anyone " + next, "+OK"},
		{"AUTH a b " + next, "-ERR syntax error"},
		{"AUTH", "-ERR wrong number of arguments for 'auth' command"},
		{"AUTH \"\"", "-" + wrongPass},
		{"AUTH default \"\"", "-" + wrongPass},
		{"AUTH secret", "-" + wrongPass},
		{"AUTH " + next[:len(next)-1], "-" + wrongPass},
		{"HELLO 2 AUTH default secret", "-" + wrongPass},
		{"HELLO 3 AUTH default " + next, "%7"},
		{"HELLO 2 AUTH default " + next, "*14"},
		{"AUTH " + next + "\r\nINCR orders/a", "+OK :1"},
		{"AUTH " + read + "\r\nINCR orders/a", "+OK -NOPERM"},
		{"HELLO 4\r\nAUTH " + next + "\r\nINCR orders/a", "-NOPROTO unsupported protocol version +OK :2"},
		{"AUTH " + next + "\r\nINCR orders/a\r\nAUTH " + read + "\r\nINCR orders/a", "+OK :3 +OK -NOPERM"},
		{"AUTH " + next + "\r\nAUTH secret\r\nINCR orders/a", "+OK -" + wrongPass + " :4"}, // same as in Redis
		{"AUTH " + next + "\r\nRESET\r\nINCR orders/a", "+OK +RESET -NOAUTH"},
		{"AUTH " + next + "\r\nINCR new", "+OK -NOPERM"}, // creates no sequence
		{"MULTI\r\nINCR orders/b\r\nEXEC\r\nAUTH " + next + "\r\nMULTI\r\nINCR orders/b\r\nEXEC", "-NOAUTH -NOAUTH -NOAUTH +OK +OK +QUEUED *1 :1"},
	} {
		var got []string
		for line := range strings.Lines(all(t, addr, tc.sent+"\r\n")) {
			if strings.HasPrefix(line, "-NO") && !strings.HasPrefix(line, "-NOPROTO") {
				line, _, _ = strings.Cut(line, " ")
			}
			got = append(got, strings.TrimSuffix(line, "\r\n"))
		}
		if text := strings.Join(got, " "); text != tc.want && !((tc.want == "*14" || tc.want == "%7") && strings.HasPrefix(text, tc.want+" ")) {
			t.Errorf("%q: got %q, want %q", tc.sent, text, tc.want)
		}
	}
}

// A connection loses its token's rights when the token is revoked, and then has the rights of the anonymous record.
func TestRevocation(t *testing.T) {
	t.Parallel()
	ts := newTokens("seq:next:*")
	addr := startJudging(t, ts)
	c := dial(t, addr)
	r := c.reader()
	ask := func(sent, want string) {
		t.Helper()
		c.send(sent + "\r\n")
		if got := r.line(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", sent, got, want)
		}
	}
	ask("AUTH "+ts.texts["seq:next:*"], "+OK")
	ask("INCR orders/a", ":1")
	ask("PING", "+PONG")
	ts.change(func() { delete(ts.records, 1) })
	ask("INCR orders/a", "-NOAUTH Authentication required. The token is no longer valid: ")
	ask("INCR orders/b", "-NOAUTH")
	ask("PING", "-NOAUTH")
	ask("RESET", "+RESET")
	ts.change(func() { ts.records[0] = &trust.Record{Scopes: []trust.Scope{"seq:next:orders/b"}} })
	ask("INCR orders/b", ":1")
	ask("INCR orders/a", "-NOAUTH Authentication required. Send AUTH with an API token.")
}

// Callers with different rights do not share a call for numbers.
func TestCallersDoNotShareCalls(t *testing.T) {
	t.Parallel()
	ts := newTokens("seq:next:*", "seq:read:*")
	addr := startJudging(t, ts)
	var clients sync.WaitGroup
	for i := range 40 {
		scope, want := trust.Scope("seq:next:*"), ":"
		if i%2 == 1 {
			scope, want = "seq:read:*", "-NOPERM"
		}
		clients.Go(func() {
			c := dial(t, addr)
			r := c.reader()
			c.send("AUTH " + ts.texts[scope] + "\r\n")
			_, _ = r.ReadString('\n')
			for range 50 {
				c.send("INCR orders/a\r\n")
				if got, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(got, want) {
					t.Errorf("with %s: got %q, %v", scope, got, err)
				}
			}
		})
	}
	clients.Wait()
}

// An open cluster also accepts a token, for clients that have tokens before the cluster is secured.
func TestTokenInOpenCluster(t *testing.T) {
	t.Parallel()
	_, addr := start(t, redis.Config{Backend: &fake{}})
	text := trust.Token{ID: 7, Secret: trust.NewTokenSecret()}.Text()
	if got := all(t, addr, "AUTH "+text+"\r\nAUTH me "+text+"\r\n"); got != "+OK\r\n+OK\r\n" {
		t.Errorf("got %q", got)
	}
}

// A caller with the whole text of a token learns why the token is refused.
func TestAuthSaysExpired(t *testing.T) {
	t.Parallel()
	ts := newTokens("seq:next:*", "seq:read:*")
	ts.change(func() { ts.records[1].ExpiresAtMillis, ts.records[2].Disabled = 1, true })
	addr := startJudging(t, ts)
	for scope, want := range map[trust.Scope]string{
		"seq:next:*": "-" + wrongPass + " The token 1 has expired; extend it with \"snowraft token update\", or send another token.\r\n",
		"seq:read:*": "-" + wrongPass + " The token 2 was disabled by a restore of the cluster; enable it with \"snowraft token update --enable\", or send another token.\r\n",
	} {
		if got := all(t, addr, "AUTH "+ts.texts[scope]+"\r\n"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

const wrongPass = "WRONGPASS invalid username-password pair or user is disabled."

// Only callers that may see the status see the cluster's ID.
func TestInfoShowsClusterByRight(t *testing.T) {
	t.Parallel()
	ts := newTokens("seq:next:other", "cluster:read")
	addr := startJudging(t, ts)
	for scope, shown := range map[trust.Scope]bool{"seq:next:other": false, "cluster:read": true} {
		got := all(t, addr, "AUTH "+ts.texts[scope]+"\r\nINFO snowraft\r\n")
		if !strings.Contains(got, "member:m1\r\n") || strings.Contains(got, "cluster_id:c0ffee") != shown {
			t.Errorf("%s got %q", scope, got)
		}
	}
}
