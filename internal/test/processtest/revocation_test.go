//go:build process

package processtest

import (
	"crypto/tls"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/trust"
)

// Within one second after the deletion of a token, a connected follower stops issuing for it from its memory, over every
// protocol, also on connections that authenticated before.
func TestRevocationStopsIssuing(t *testing.T) {
	t.Parallel()
	secret := trust.NewSecret()
	members := newCluster(t, 3)
	redisAddr := make(map[*member]string)
	for _, m := range members {
		redisAddr[m] = m.listenRedis()
		m.secured(secret).start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	lead := leader(t, members)
	follower := others(members, lead)[0]
	token := lead.firstToken("app", "ids:issue:default")
	callers := callersOf(t, follower, redisAddr[follower], clientTLS(t, token), token)
	stopsIssuing(t, callers, func() { lead.deleteToken("app") })
}

// deleteToken deletes a token by the command line with the member's secret file.
func (m *member) deleteToken(name string) {
	m.t.Helper()
	if _, stderr, code := command(m.t, at(m), "token", "delete", name, "--secret-file", *m.secret.Load()); code != 0 {
		m.t.Fatalf("exit code %d: %s", code, stderr)
	}
}

// stopsIssuing checks that callers get IDs, and get none later than promised after the deletion of their token.
func stopsIssuing(t *testing.T, callers map[string]func() error, remove func()) {
	t.Helper()
	for what, call := range callers {
		if err := call(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	var wg, ready sync.WaitGroup // ready: each caller has ten answers
	ready.Add(len(callers))
	var mu sync.Mutex
	s, began := watchStalls(t), time.Now()
	ended := make(map[string]time.Time) // end of the last answered call
	for what, call := range callers {
		wg.Go(func() {
			last := time.Now()
			for n := 1; ; n++ {
				err := call()
				if err == nil && time.Since(began) < patience {
					last = time.Now()
					if n == 10 {
						ready.Done()
					}
					continue
				}
				if !errors.Is(err, errRevoked) || n <= 10 {
					t.Errorf("%s, call %d: %v", what, n, err)
				}
				if n <= 10 {
					ready.Done()
				}
				mu.Lock()
				ended[what] = last
				mu.Unlock()
				return
			}
		})
	}
	ready.Wait()
	remove()
	deleted := time.Now()
	wg.Wait()
	for what, last := range ended {
		late := last.Sub(deleted)
		if late > time.Duration(revoked) && late > time.Duration(revoked)+s.between(deleted, last) {
			t.Errorf("%s: the process issued for %v after the token was deleted", what, late)
		}
		t.Logf("%s: the last ID came %v after the command returned", what, late.Round(time.Microsecond))
	}
}

// clientTLS returns a configuration that verifies members by the pin of a token.
func clientTLS(t *testing.T, token string) *tls.Config {
	t.Helper()
	config, err := trust.ClientTLS{Token: token}.Config()
	if err != nil {
		t.Fatal(err)
	}
	return config
}
