//go:build process || prometheus

package processtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// errRevoked is the refusal that a caller with a revoked token expects.
var errRevoked = errors.New("refused")

// callersOf returns callers with a token over each protocol of a process whose ports use TLS.
func callersOf(t *testing.T, m *member, redisAddr string, config *tls.Config, token string) map[string]func() error {
	t.Helper()
	return map[string]func() error{
		"a gRPC stream": streamCaller(t, m, config, token),
		"HTTP":          httpCaller(t, m, config, token),
		"Redis":         redisCaller(t, redisAddr, config, token),
	}
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
		_ = stream.Send(&snowraftv1.StreamIdsRequest{Id: 1, Request: &snowraftv1.GenerateIdsRequest{Count: 1}}) // Recv returns its error
		resp, err := stream.Recv()
		if resp.GetError().GetCode() == int32(codes.Unauthenticated) {
			return fmt.Errorf("%w: %s", errRevoked, resp.GetError().GetMessage())
		}
		return err
	}
}

// httpCaller requests IDs over one persistent HTTP connection.
func httpCaller(t *testing.T, m *member, config *tls.Config, token string) func() error {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config.Clone()}
	t.Cleanup(transport.CloseIdleConnections)
	return func() error { return httpCall(t, m, transport, token) }
}

// httpCall requests an ID over HTTPS.
func httpCall(t *testing.T, m *member, transport *http.Transport, token string) error {
	t.Helper()
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

// redisCaller requests IDs over one connection that it authenticates once.
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
