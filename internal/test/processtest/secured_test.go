//go:build process

package processtest

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// Three members with one secret start a cluster in any order. A fourth with another secret has no effect, and logs
// the reason in one line. The secret file creates the first token, and a client needs only this token.
func TestSecuredCluster(t *testing.T) {
	t.Parallel()
	secret := trust.NewSecret()
	members := newCluster(t, 3)
	for _, i := range []int{2, 0, 1} {
		members[i].secured(secret).start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	stranger := newcomer(t, "m4", members).secured(trust.NewSecret()).start()
	const refusal = "peer has another cluster secret"
	until(t, "the stranger logs the reason", func() bool { return strings.Contains(stranger.stderr.String(), refusal) })
	resp, err := members[0].cluster.ListMembers(t.Context(), &snowraftv1.ListMembersRequest{})
	if err != nil || len(resp.GetMembers()) != 3 {
		t.Errorf("the members are %v, want 3: %v", resp.GetMembers(), err)
	}

	token := members[1].firstToken("app", "ids:issue:default", "seq:next:orders/*")
	c := dialCluster(t, members, client.WithToken(token))
	for range 100 {
		if _, err := c.NextID(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.Sequence("invoices").Next(t.Context())
	if failed, ok := errors.AsType[*client.Error](err); !ok || failed.Repeatable() || status.Code(err) != codes.PermissionDenied {
		t.Errorf("a number without the right for it: %v, want PermissionDenied", err)
	}
	if _, err := dialCluster(t, members).NextID(t.Context()); err == nil {
		t.Error("a client without a token got an ID")
	}
	if n := strings.Count(stranger.stderr.String(), "peer cannot be understood"); n != 1 { // another line sums up all addresses
		t.Errorf("the stranger logs the reason %d times, want once:\n%s", n, stranger.stderr.tail(20))
	}
	for _, m := range append(members, stranger) {
		if strings.Contains(m.stderr.String(), secret.Line()[20:]) || strings.Contains(m.stderr.String(), token[14:40]) {
			t.Errorf("%s logs a secret or a token", m.name)
		}
	}
}
