package rpc

import "context"

type bearerKey struct{}

// WithBearer returns a context of calls by the Go client that go with this token instead of the client's own; an empty
// one is none. Gateways pass calls on with it.
func WithBearer(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, bearerKey{}, token)
}

// Bearer returns the token of WithBearer; ok is false if calls go with the client's own.
func Bearer(ctx context.Context) (token string, ok bool) {
	token, ok = ctx.Value(bearerKey{}).(string)
	return token, ok
}
