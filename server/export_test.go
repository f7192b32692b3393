package server

import "context"

// Create creates a sequence like an INCR at this member.
func (s *Server) Create(ctx context.Context, sequence string) (created bool, err error) {
	return s.api.Create(ctx, sequence)
}
