//go:build process

package processtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// No call of the Go client fails while the secret is replaced on one host after the other in any order, and while the
// replacement is reverted.
func TestSecretRotationUnderLoad(t *testing.T) {
	t.Parallel()
	first, second := trust.NewSecret(), trust.NewSecret()
	members := newCluster(t, 3)
	for _, m := range members {
		m.secured(first).start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	if _, err := members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
		Sequence: &snowraftv1.Sequence{Name: "orders", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT},
	}); err != nil {
		t.Fatal(err)
	}
	token := members[0].firstToken("app", "ids:issue:default", "seq:next:orders")
	cas := slices.Concat(first.Authority().PEM(), second.Authority().PEM())
	a := startCallers(t, members, 16, client.WithToken(token), client.WithCA(cas))
	stopNumbers := startNumbers(t, dialCluster(t, members, client.WithToken(token), client.WithCA(cas)))
	for round, step := range []struct {
		order   []int
		secrets []trust.Secret
	}{
		{[]int{2, 0, 1}, []trust.Secret{second, first}},
		{[]int{1, 2, 0}, []trust.Secret{second}},
		{[]int{0, 2, 1}, []trust.Secret{first, second}}, // revert
		{[]int{2, 1, 0}, []trust.Secret{first}},
	} {
		a.during(fmt.Sprintf("in step %d of the rotation", round+1))
		for _, i := range step.order {
			reloads := strings.Count(members[i].stderr.String(), "secret file reloaded")
			members[i].writeSecrets(step.secrets...)
			until(t, members[i].name+" reloads its file", func() bool {
				return strings.Count(members[i].stderr.String(), "secret file reloaded") > reloads
			})
			a.untilAnswered(200)
		}
		for _, m := range members {
			until(t, m.name+" signs with the first secret of its file", func() bool {
				return m.status().GetSigningFingerprint() == step.secrets[0].Fingerprint()
			})
			m.untilIssues()
		}
	}
	stopNumbers()
	a.stop()
	fresh := dialCluster(t, members, client.WithToken(token))
	if _, err := fresh.NextID(t.Context()); err != nil {
		t.Errorf("a new client with the first pin: %v", err)
	}
}

// startNumbers requests numbers of a strict sequence until stop is called.
func startNumbers(t *testing.T, c *client.Client) (stop func()) {
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for last := int64(0); ; {
			select {
			case <-stopped:
				return
			case <-time.After(pace):
			}
			n, err := c.Sequence("orders").Next(t.Context())
			if err != nil || n <= last {
				t.Errorf("number %d after %d: %v", n, last, err)
				return
			}
			last = n
		}
	}()
	return func() { close(stopped); <-done }
}
