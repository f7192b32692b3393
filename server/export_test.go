package server

import (
	"context"

	"github.com/snowraft/snowraft/trust"
)

// Create creates a sequence like an INCR at this member.
func (s *Server) Create(ctx context.Context, sequence string) (created bool, err error) {
	return s.api.Create(trust.WithPrincipal(ctx, trust.Open()), sequence)
}

// Move makes this member find its host at another address.
func (s *Server) Move(address string) { s.moved.away.Store(&address) }

// As returns the context of a caller with a token.
func (s *Server) As(ctx context.Context, token string) (context.Context, error) {
	p, err := s.api.Verify(ctx, token)
	return trust.WithPrincipal(ctx, p), err
}
