//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/apijson"
)

// command runs a client command and waits for its exit.
func command(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	p := start(t, env, args...)
	code = p.exit()
	return p.stdout.String(), p.stderr.String(), code
}

// answer runs a client command that must succeed, and returns the response from its JSON output.
func answer[M any, P interface {
	*M
	proto.Message
}](t *testing.T, env []string, args ...string) P {
	t.Helper()
	stdout, stderr, code := command(t, env, append(args, "-o", "json")...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr)
	}
	resp := P(new(M))
	if err := apijson.Unmarshal([]byte(stdout), resp); err != nil {
		t.Fatalf("%q: %v in %s", args, err, stdout)
	}
	return resp
}

// at returns the environment of a command that calls this member.
func at(m *member) []string { return []string{"SNOWRAFT_ADDR=" + m.api} }

// mustSucceed runs a client command that must succeed at a member, and returns its output.
func mustSucceed(t *testing.T, m *member, args ...string) string {
	t.Helper()
	stdout, stderr, code := command(t, at(m), args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr)
	}
	return stdout
}
