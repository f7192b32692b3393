package frontend

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/trust"
)

// greeting bounds the time for authenticating a caller of the health protocol.
const greeting = time.Second

// isHealth reports whether a method belongs to the health protocol, which needs no token.
func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// greet keeps the connection of a caller that watches the health with a token or a certificate. An invalid one is ignored.
func (s *Server) greet(ctx context.Context) {
	c := connOf(ctx)
	if s.auth == nil || c == nil || c.Known() ||
		connectionOf(ctx).principal == nil && len(metadata.ValueFromIncomingContext(ctx, "authorization")) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	if met, err := s.authenticate(ctx); err == nil && !trust.PrincipalOf(met).IsAnonymous() {
		_ = s.speak(met) // otherwise the caller watches as a stranger
	}
}
