package web

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
)

// capturing keeps the context of a call.
type capturing struct {
	grpc.ClientConnInterface
	ctx context.Context
}

func (c *capturing) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	c.ctx = ctx
	return nil
}

// The memory of an answer is held until the answer is written, which a client can delay beyond the deadline of its call.
func TestAnsweredOutlivesTheDeadline(t *testing.T) {
	t.Parallel()
	conn := &capturing{}
	g, err := newGateway(conn)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/ids:generate", strings.NewReader("{}"))
	r.Header.Set(grpcTimeout, "200m")
	if _, err := (&handler{gateway: g}).call(httptest.NewRecorder(), r); err != nil {
		t.Fatal(err)
	}
	if _, ok := conn.ctx.Deadline(); !ok || conn.ctx.Err() == nil {
		t.Error("the call has no deadline, or did not end with its handler")
	}
	answered := Answered(conn.ctx)
	if answered == nil || answered.Err() != nil {
		t.Fatal("the request has ended with its call")
	}
	if _, ok := answered.Deadline(); ok {
		t.Error("the request has the deadline of its call")
	}
	if Answered(t.Context()) != nil {
		t.Error("a context of no call belongs to a request")
	}
}
