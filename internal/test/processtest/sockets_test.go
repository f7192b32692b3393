//go:build process && linux

package processtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowraft/snowraft/trust"
)

// Real clients use the sockets of a secured member with a token and without TLS. A member that was killed leaves its sockets, and the
// next start replaces them.
func TestUnixSockets(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sockets") //nolint:usetesting // a short path, as sockets require
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	redisSocket, httpSocket := filepath.Join(dir, "redis.sock"), filepath.Join(dir, "http.sock")
	m := newCluster(t, 1)[0]
	m.secured(trust.NewSecret())
	m.flags = append(m.flags, "--initial-redis-create", "strict", "--redis-socket", redisSocket, "--redis-socket-mode", "0660", "--http-socket", httpSocket)
	m.start()
	m.untilIssues()
	token := m.firstToken("app", "ids:issue:default", "seq:next:*", "seq:admin:*")
	m.kill()
	if _, err := os.Lstat(redisSocket); err != nil {
		t.Fatalf("the killed member left no socket: %v", err)
	}
	m.start()
	m.untilIssues()
	for path, want := range map[string]os.FileMode{redisSocket: 0o660, httpSocket: 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|want {
			t.Errorf("%s: %v, %v, want a socket of mode %v", path, info, err, want)
		}
	}

	output := func(program string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		if err != nil {
			t.Errorf("%s %q: %v", program, args, err)
		}
		return strings.TrimSpace(string(out))
	}
	cli, curl := installed(t, "redis-cli", "redis-tools"), installed(t, "curl", "curl")
	if got := output(cli, "-s", redisSocket, "INCR", "orders"); !strings.HasPrefix(got, "NOAUTH") {
		t.Errorf("redis-cli without a token: %s, want NOAUTH", got)
	}
	if got := output(cli, "-s", redisSocket, "--no-auth-warning", "-a", token, "INCR", "orders"); got != "1" {
		t.Errorf("redis-cli: %s, want 1", got)
	}
	const python = "import redis, sys; print(redis.Redis(unix_socket_path=sys.argv[1], password=sys.argv[2]).incr('orders'))"
	if got := output(pythonWithRedis(t), "-c", python, redisSocket, token); got != "2" {
		t.Errorf("redis-py: %s, want 2", got)
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: redisSocket, Password: token})
	t.Cleanup(func() { _ = client.Close() })
	if got, err := client.Incr(t.Context(), "orders").Result(); got != 3 || err != nil {
		t.Errorf("go-redis: %d, %v, want 3", got, err)
	}
	if info, err := client.ClientInfo(t.Context()).Result(); err != nil || info.Addr != redisSocket+":0" {
		t.Errorf("go-redis reads %+v, %v of CLIENT INFO, want the address of the socket", info, err)
	}
	if got := output(curl, "-s", "-X", "POST", "--unix-socket", httpSocket, "http://localhost/seq/orders"); !strings.HasPrefix(got, "UNAUTHENTICATED") {
		t.Errorf("curl without a token: %s, want UNAUTHENTICATED", got)
	}
	if got := output(curl, "-s", "-X", "POST", "-H", "Authorization: Bearer "+token, "--unix-socket", httpSocket, "http://localhost/seq/orders"); got != "4" {
		t.Errorf("curl: %s, want 4", got)
	}
}
