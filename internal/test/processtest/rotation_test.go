//go:build process

package processtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// No call fails while the secret is replaced in the steps of docs/security.md, on one host after the other in any order, and while
// the replacement is reverted: neither of clients that stay connected nor of clients that connect again for each call.
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
	fresh := startNewcomers(t, members, token, first.Authority().PEM())
	for round, step := range []struct {
		order   []int
		secrets []trust.Secret
		pin     string // empty: unchanged
		ca      []byte
	}{
		{[]int{2, 0, 1}, []trust.Secret{first, second}, "", cas},
		{[]int{1, 2, 0}, []trust.Secret{second, first}, second.Authority().Pin(), second.Authority().PEM()},
		{[]int{2, 1, 0}, []trust.Secret{second}, "", cas},
		{[]int{0, 2, 1}, []trust.Secret{first, second}, first.Authority().Pin(), first.Authority().PEM()}, // revert
		{[]int{1, 0, 2}, []trust.Secret{first}, "", first.Authority().PEM()},
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
		fresh.get(step.pin, step.ca)
	}
	fresh.stop()
	stopNumbers()
	a.stop()
}

// newcomers are clients that connect again for each call: one that verifies by the pin of its token, and one that verifies hosts by
// a CA, as curl does.
type newcomers struct {
	t         *testing.T
	has       atomic.Pointer[credential]
	answered  atomic.Int64
	end, done chan struct{}
}

type credential struct {
	token string
	ca    []byte
}

func startNewcomers(t *testing.T, members []*member, token string, ca []byte) *newcomers {
	n := &newcomers{t: t, end: make(chan struct{}), done: make(chan struct{})}
	n.has.Store(&credential{token, ca})
	go func() {
		defer close(n.done)
		for i := 0; ; i++ {
			select {
			case <-n.end:
				return
			case <-time.After(10 * pace):
			}
			c := n.has.Load()
			if err := c.call(t, members, members[i%len(members)]); err != nil {
				t.Errorf("a client that connects again: %v", err)
				return
			}
			n.answered.Add(1)
		}
	}()
	return n
}

// call connects to the cluster by the pin, and to one member by the CA.
func (c *credential) call(t *testing.T, members []*member, m *member) error {
	ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
	defer cancel()
	pinned, err := client.New(apis(members), client.WithToken(c.token))
	if err != nil {
		return err
	}
	defer func() { _ = pinned.Close() }()
	if _, err := pinned.NextID(ctx); err != nil {
		return fmt.Errorf("by its pin: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.ca)
	again := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	if err := httpCall(t, m, again, c.token); err != nil {
		return fmt.Errorf("by its CA, to %s: %w", m.name, err)
	}
	return nil
}

// get gives the clients another CA and, unless pin is empty, a token with another pin. It returns once they have used them.
func (n *newcomers) get(pin string, ca []byte) {
	n.t.Helper()
	token := n.has.Load().token
	if pin != "" {
		token = token[:strings.LastIndexByte(token, '_')+1] + pin
	}
	n.has.Store(&credential{token, ca})
	from := n.answered.Load()
	until(n.t, "clients connect with what they got", func() bool { return n.t.Failed() || n.answered.Load() >= from+2 })
}

// stop stops the clients and waits for them.
func (n *newcomers) stop() {
	close(n.end)
	<-n.done
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
