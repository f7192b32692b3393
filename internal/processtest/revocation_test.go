//go:build process

package processtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// errRevoked marks the refusals that a caller with a revoked token expects.
var errRevoked = errors.New("refused")

// Within a second after a token was deleted, a connected follower issues nothing more for it from its memory, over any
// protocol, also on connections that were authenticated before.
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
	stopsIssuing(t, callers, 0, time.Second, func() { lead.deleteToken("app") })
}

// deleteToken deletes a token by the command line with the member's secret file.
func (m *member) deleteToken(name string) {
	m.t.Helper()
	if _, stderr, code := command(m.t, at(m), "token", "delete", name, "--secret-file", *m.secret.Load()); code != 0 {
		m.t.Fatalf("exit code %d: %s", code, stderr)
	}
}

// callersOf returns callers over each protocol with a token, at a process whose ports speak TLS.
func callersOf(t *testing.T, m *member, redisAddr string, config *tls.Config, token string) map[string]func() error {
	t.Helper()
	return map[string]func() error{
		"a gRPC stream": streamCaller(t, m, config, token),
		"HTTP":          httpCaller(t, m, config, token),
		"Redis":         redisCaller(t, redisAddr, config, token),
	}
}

// stopsIssuing checks that callers get IDs, with a pause between their calls, and none later than a limit after their token was
// deleted.
func stopsIssuing(t *testing.T, callers map[string]func() error, pause, limit time.Duration, remove func()) {
	t.Helper()
	for what, call := range callers {
		if err := call(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	ended := make(map[string]time.Time) // of the last call that was answered
	for what, call := range callers {
		wg.Go(func() {
			answered := 0
			for last := time.Now(); ; answered++ {
				began := time.Now()
				err := call()
				if err == nil && began.Sub(last) < patience {
					last = time.Now()
					pass(t, pause)
					continue
				}
				if !errors.Is(err, errRevoked) || answered < 10 {
					t.Errorf("%s, after %d answers: %v", what, answered, err)
				}
				mu.Lock()
				ended[what] = last
				mu.Unlock()
				return
			}
		})
	}
	pass(t, time.Second)
	remove()
	deleted := time.Now()
	wg.Wait()
	for what, last := range ended {
		late := last.Sub(deleted)
		if late > limit {
			t.Errorf("%s: the process issued for %v after the token was deleted", what, late)
		}
		t.Logf("%s: the last ID came %v after the command returned", what, late.Round(time.Microsecond))
	}
}

// clientTLS verifies members by the pin of a token.
func clientTLS(t *testing.T, token string) *tls.Config {
	t.Helper()
	config, err := trust.ClientTLS{Token: token}.Config()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// streamCaller opens a stream of IDs.
func streamCaller(t *testing.T, m *member, config *tls.Config, token string) func() error {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+m.api, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	stream, err := snowraftv1.NewIdServiceClient(conn).StreamIds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return func() error {
		_ = stream.Send(&snowraftv1.StreamIdsRequest{Request: &snowraftv1.GenerateIdsRequest{Count: 1}}) // its error is told by Recv
		resp, err := stream.Recv()
		if resp.GetError().GetCode() == int32(codes.Unauthenticated) {
			return fmt.Errorf("%w: %s", errRevoked, resp.GetError().GetMessage())
		}
		return err
	}
}

// httpCaller keeps a connection.
func httpCaller(t *testing.T, m *member, config *tls.Config, token string) func() error {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config.Clone()}
	t.Cleanup(transport.CloseIdleConnections)
	return func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+m.http+"/v1/ids:generate", strings.NewReader("{}"))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusUnauthorized:
			return fmt.Errorf("%w: %s", errRevoked, text)
		case resp.StatusCode != http.StatusOK:
			return fmt.Errorf("%s: %s", resp.Status, text)
		}
		return err
	}
}

// redisCaller authenticates one connection and keeps it.
func redisCaller(t *testing.T, address string, config *tls.Config, token string) func() error {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: address, Password: token, TLSConfig: config, PoolSize: 1, MaxRetries: -1})
	conn := c.Conn()
	t.Cleanup(func() { _, _ = conn.Close(), c.Close() })
	return func() error {
		ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
		defer cancel()
		err := conn.Do(ctx, "SNOWRAFT.ID").Err()
		if err != nil && strings.HasPrefix(err.Error(), "NOAUTH ") {
			return fmt.Errorf("%w: %w", errRevoked, err)
		}
		return err
	}
}
