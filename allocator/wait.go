package allocator

import "context"

// Wait observes the calls that wait for a grant. It is called with the context of such a call. It returns
// values, the context values for the requests that the call starts, and done, which is called when the call no
// longer waits. If values is nil, the requests have no values, and done is not called.
type Wait func(ctx context.Context) (values context.Context, done func(error))

// observe calls w unless it is nil.
func (w Wait) observe(ctx context.Context) (values context.Context, done func(error)) {
	if w == nil {
		return nil, nil
	}
	return w(ctx)
}

// valued is a context that ends with one context and has the values of another.
type valued struct {
	context.Context
	values context.Context
}

// withValues returns ctx with the values of another context, which may be nil.
func withValues(ctx, values context.Context) context.Context {
	if values == nil {
		return ctx
	}
	return valued{ctx, values}
}

// Value implements context.Context.
func (v valued) Value(key any) any { return v.values.Value(key) }
