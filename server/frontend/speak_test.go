package frontend

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

// oneToken knows only the token "good", which belongs to an administrator.
type oneToken struct{ *trust.Authorizer }

func (o oneToken) Authenticate(ctx context.Context, text string) (*trust.Principal, error) {
	if text == "good" {
		return trust.Admin(), nil
	}
	return o.Authorizer.Authenticate(ctx, text)
}

// noTable is a trust.Table without tokens.
type noTable struct{}

func (noTable) TokenRevision() uint64                      { return 0 }
func (noTable) Token(uint64) (*trust.Record, bool)         { return nil, false }
func (noTable) Anonymous() *trust.Record                   { return &trust.Record{} }
func (noTable) NeverIssued(uint64) bool                    { return false }
func (noTable) AwaitApplied(context.Context, uint64) error { return nil }
func (noTable) CaughtUp() bool                             { return true }
func (noTable) NowMillis() int64                           { return 1 }

// statusOnly serves GetStatus.
type statusOnly struct {
	snowraftv1.UnimplementedClusterServiceServer
}

func (statusOnly) GetStatus(context.Context, *snowraftv1.GetStatusRequest) (*snowraftv1.GetStatusResponse, error) {
	return &snowraftv1.GetStatusResponse{}, nil
}

// small returns a server and a port with two slots.
func small(t *testing.T, auth *Auth) (*Server, net.Listener) {
	t.Helper()
	s := New(Config{State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Auth: auth, Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, conn.Listen(l, slots.New(2, 2), func(net.Conn) {})
}

func secret() *Auth { return &Auth{Tokens: oneToken{trust.NewAuthorizer(noTable{})}} }

// The ports of a secured process keep slots for callers with a token, whatever strangers send.
func TestStrangersMakeWayOverGRPC(t *testing.T) {
	t.Parallel()
	s, l := small(t, secret())
	g := s.newGRPC()
	snowraftv1.RegisterClusterServiceServer(g, statusOnly{})
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	dial := func() snowraftv1.ClusterServiceClient {
		conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return snowraftv1.NewClusterServiceClient(conn)
	}
	good := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer good")
	ours := dial()
	if _, err := ours.GetStatus(good, &snowraftv1.GetStatusRequest{}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := dial().GetStatus(t.Context(), &snowraftv1.GetStatusRequest{}); rpc.FromError(err).Reason != rpc.Unauthenticated {
			t.Errorf("without a token: %v", err)
		}
	}
	if _, err := dial().GetStatus(good, &snowraftv1.GetStatusRequest{}); err != nil {
		t.Errorf("another with a token: %v", err)
	}
	if _, err := dial().GetStatus(good, &snowraftv1.GetStatusRequest{}); err == nil {
		t.Error("a third connection with a token got a place of two")
	}
	if _, err := ours.GetStatus(good, &snowraftv1.GetStatusRequest{}); err != nil {
		t.Error(err)
	}
}

func TestStrangersMakeWayOverHTTP(t *testing.T) {
	t.Parallel()
	for name, auth := range map[string]*Auth{"open": nil, "secured": secret()} {
		s, l := small(t, auth)
		server := &http.Server{
			ReadHeaderTimeout: time.Minute, ConnContext: conn.With,
			Handler: s.tracked(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = s.byRequest(r, "")
				_, _ = io.WriteString(w, "ok")
			})),
		}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
		// ask makes a request on its own connection, which stays open.
		ask := func(token string) bool {
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return err == nil
		}
		if !ask("good") {
			t.Fatalf("%s: no place", name)
		}
		if auth != nil {
			for range 5 {
				if !ask("") {
					t.Errorf("%s: a stranger does not make way for the next", name)
				}
			}
		}
		if !ask("good") || ask("good") {
			t.Errorf("%s: two connections with a token have a place, and a third has none", name)
		}
	}
}
