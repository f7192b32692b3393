package frontend

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// witnesses records the callers that brought receipts.
type witnesses []string

func (*witnesses) Hand() []byte { return nil }

func (w *witnesses) Hear(receipt []byte, from string, proven bool) {
	if proven {
		from += ", proven"
	}
	*w = append(*w, string(receipt)+" from "+from)
}

// The receipt of a refused call counts, and names its caller as far as the call proves it.
func TestWitnessesOfRefusedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := oneSecret{secret: trust.NewTokenSecret()}
		for name, c := range map[string]struct {
			auth   *Auth
			token  string
			marks  []string
			served error
			want   string
		}{
			"without the right": {&Auth{Tokens: trust.NewAuthorizer(table)}, table.text(17), nil, nil, "r from token 17 (t) at pipe, proven"},
			"no token":          {&Auth{Tokens: trust.NewAuthorizer(table)}, "", nil, nil, "r from anonymous at pipe"},
			"no valid token":    {&Auth{Tokens: trust.NewAuthorizer(noTable{})}, table.text(17), nil, nil, "r from unknown at pipe"},
			"open":              {nil, "", nil, io.EOF, "r from pipe"},
			"a claimed member":  {nil, "", []string{rpc.ForwardedBy, "m1"}, io.EOF, "r from pipe"},
		} {
			heard := new(witnesses)
			s := New(Config{State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Auth: c.auth, Logger: slog.New(slog.DiscardHandler)})
			s.behind.Receipts = heard
			var peerIs *trust.Principal
			if c.auth == nil {
				peerIs = trust.Open()
			}
			conn, ctx := accepted(t, slots.New(1, 1), peerIs)
			headers := metadata.Pairs(append(c.marks, rpc.Receipt, "r")...)
			if c.token != "" {
				headers.Set("authorization", "Bearer "+c.token)
			}
			ctx = conn.BeginCall(metadata.NewIncomingContext(ctx, headers), 0)
			info := &grpc.UnaryServerInfo{FullMethod: snowraftv1.IdService_GenerateIds_FullMethodName}
			_, err := s.unary(ctx, &snowraftv1.GenerateIdsRequest{}, info, func(context.Context, any) (any, error) { return nil, c.served })
			if err == nil || !slices.Equal(*heard, witnesses{c.want}) {
				t.Errorf("%s: %v, heard %q, want %q", name, err, *heard, c.want)
			}
		}
	})
}
