//go:build process

package processtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// No call of an application fails while a running cluster is secured by the steps of docs/security.md.
func TestSecureARunningCluster(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	for _, m := range members {
		m.untilIssues()
	}
	if _, err := members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
		Sequence: &snowraftv1.Sequence{Name: "orders", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT},
	}); err != nil {
		t.Fatal(err)
	}
	app := startApplication(t, members)
	app.untilAnswered("in the open cluster")

	answer[snowraftv1.UpdateTokenResponse](t, at(members[0]), "token", "update", "anonymous", "--scope", "metrics:read", "--scope", "ids:issue:*", "--scope", "seq:next:*")
	for _, m := range members {
		m.stop()
	}
	secret := trust.NewSecret()
	for _, m := range members {
		m.secured(secret).start("--client-tls=false")
	}
	app.untilAnswered("without a token and TLS in the secured cluster")

	token := members[0].firstToken("app", "ids:issue:default", "seq:next:orders")
	if !strings.HasSuffix(token, "_"+secret.Authority().Pin()) {
		t.Errorf("the token has no pin")
	}
	app.options.Store(&[]client.Option{client.WithToken(token)})
	app.untilAnswered("with the token")

	for _, m := range members {
		m.stop()
		m.start()
		m.untilIssues()
	}
	app.untilAnswered("when all ports use TLS")
	answer[snowraftv1.UpdateTokenResponse](t, at(members[0]), "token", "update", "anonymous", "--scope", "metrics:read", "--secret-file", *members[0].secret.Load())
	app.untilAnswered("when callers need a token")
	app.stop()
	bare := dialCluster(t, members, client.WithCA(secret.Authority().PEM()))
	if _, err := bare.NextID(t.Context()); err == nil {
		t.Error("a caller without a token gets an ID in the end")
	}
}

// application requests IDs and strict numbers, each time with a new client.
type application struct {
	t       *testing.T
	options atomic.Pointer[[]client.Option]
	rounds  atomic.Int64
	end     chan struct{}
	callers sync.WaitGroup
}

func startApplication(t *testing.T, members []*member) *application {
	a := &application{t: t, end: make(chan struct{})}
	a.options.Store(&[]client.Option{})
	a.callers.Go(func() {
		for last := int64(0); ; {
			select {
			case <-a.end:
				return
			case <-time.After(pace):
			}
			n, err := a.call(members)
			if err != nil || n <= last {
				t.Errorf("number %d after %d: %v", n, last, err)
				return
			}
			last = n
			a.rounds.Add(1)
		}
	})
	return a
}

func (a *application) call(members []*member) (number int64, err error) {
	ctx, cancel := context.WithTimeout(a.t.Context(), patience) // bounds a hang: all members stop for a moment
	defer cancel()
	c, err := client.New(apis(members), *a.options.Load()...)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	if _, err := c.NextID(ctx); err != nil {
		return 0, fmt.Errorf("ID: %w", err)
	}
	return c.Sequence("orders").Next(ctx)
}

// untilAnswered waits until calls that began after it have answers.
func (a *application) untilAnswered(phase string) {
	a.t.Helper()
	from := a.rounds.Load()
	until(a.t, "answers "+phase, func() bool { return a.t.Failed() || a.rounds.Load() >= from+20 })
}

func (a *application) stop() {
	close(a.end)
	a.callers.Wait()
}
