package rpc

import "context"

type bearerKey struct{}

// WithBearer returns a context with which calls of the Go client carry this token instead of the client's own. An empty
// token means no token. Gateways forward calls with such contexts.
func WithBearer(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, bearerKey{}, token)
}

// Bearer returns the token of WithBearer; ok is false if calls carry the client's own token.
func Bearer(ctx context.Context) (token string, ok bool) {
	token, ok = ctx.Value(bearerKey{}).(string)
	return token, ok
}
