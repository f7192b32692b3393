//go:build process

package processtest

import (
	"encoding/json"
	"testing"
	"time"
)

// command runs a client command to its end.
func command(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	p := start(t, env, args...)
	code = p.exit(patience)
	return p.stdout.String(), p.stderr.String(), code
}

// answer runs a client command that must succeed and decodes its JSON.
func answer[T any](t *testing.T, env []string, args ...string) T {
	t.Helper()
	var doc T
	stdout, stderr, code := command(t, env, append(args, "-o", "json")...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatalf("%q: %v in %s", args, err, stdout)
	}
	return doc
}

// at is the environment of a command that asks this member.
func at(m *member) []string { return []string{"SNOWRAFT_ADDR=" + m.api} }

// The documents that the commands print, as far as the tests look at them.
type (
	statusDoc struct {
		ClusterID  string `json:"cluster_id"`
		NodeID     string `json:"node_id"`
		LeaderID   string `json:"leader_id"`
		LeaderName string `json:"leader_name"`
		Problem    string `json:"problem"`
		Lanes      []struct {
			Layout     string    `json:"layout"`
			Worker     string    `json:"worker"`
			ServeUntil time.Time `json:"serve_until"`
		} `json:"lanes"`
	}
	membersDoc struct {
		Members []memberDoc `json:"members"`
	}
	memberDoc struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Role   string `json:"role"`
		Leader bool   `json:"leader"`
		Alive  bool   `json:"alive"`
	}
	idsDoc struct {
		IDs []string `json:"ids"`
	}
	whoisDoc struct {
		ID     string `json:"id"`
		Holder string `json:"holder"`
	}
	workersDoc struct {
		Capacity string `json:"capacity"`
		Used     string `json:"used"`
	}
)
