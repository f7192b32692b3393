package frontend

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
)

// greeting bounds the time for authenticating a caller of the health protocol.
const greeting = time.Second

// isHealth reports whether a method belongs to the health protocol, which needs no token.
func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// greet keeps the connection of a caller that watches the health with a token or a certificate. An invalid one is ignored.
func (s *Server) greet(ctx context.Context) {
	c := connOf(ctx)
	if s.auth.open() || c == nil || c.Known() ||
		connectionOf(ctx).principal == nil && len(metadata.ValueFromIncomingContext(ctx, "authorization")) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	if ctx, p, err := s.authenticate(ctx); err == nil && !p.IsAnonymous() {
		_ = s.keep(ctx, p) // otherwise the caller watches as a stranger
	}
}
