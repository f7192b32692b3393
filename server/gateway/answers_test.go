package gateway

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// answers is a member that answers with too many IDs, and stores the requests.
type answers struct {
	grpc.ClientConnInterface
	next *snowraftv1.NextNumbersRequest
}

func (a *answers) Invoke(_ context.Context, _ string, req, reply any, _ ...grpc.CallOption) error {
	switch reply := reply.(type) {
	case *snowraftv1.GenerateIdsResponse:
		reply.Ranges = []*snowraftv1.IdRange{{First: 1, Count: 100, Step: 1}}
	case *snowraftv1.NextNumbersResponse:
		a.next = req.(*snowraftv1.NextNumbersRequest)
		reply.First, reply.Count, reply.Increment = 1, a.next.GetCount(), 1
	}
	return nil
}

// noSource is the source of a closed gateway.
type noSource struct{ idSource }

func (noSource) Next(context.Context) (int64, error) { return 0, client.ErrClosed }

func sourceOf(a *answers) *source {
	return newSource(&members{conn: a}, func(string) (idSource, error) { return noSource{}, nil })
}

// A gateway returns no more IDs than were requested, because some protocols write IDs one by one.
func TestGatewayChecksAnswers(t *testing.T) {
	t.Parallel()
	if ids, err := sourceOf(new(answers)).Take(t.Context(), nil, "default", 3, 0); err == nil {
		t.Errorf("%d IDs instead of 3", len(ids))
	}
}

// A client of a gateway that reaches no member gets the same error as a client of a member that reaches no leader.
func TestGatewayWithoutMembersHasReason(t *testing.T) {
	t.Parallel()
	c, err := client.New([]string{"127.0.0.1:1"}, client.WithOneShot())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m := &members{conn: c.Conn()}
	err = m.ask(t.Context(), snowraftv1.ClusterService_GetStatus_FullMethodName, new(snowraftv1.GetStatusRequest), new(snowraftv1.GetStatusResponse))
	if e := rpc.FromError(err); e.Reason != rpc.NoLeader || e.Code != codes.Unavailable || e.RetryAfter == 0 {
		t.Errorf("code %v, reason %s: %v", e.Code, e.Reason, err)
	}
}

// A closed gateway reports that also over protocols without gRPC codes.
func TestBuffersOfClosedGateway(t *testing.T) {
	t.Parallel()
	s := sourceOf(new(answers))
	if err := s.buffers.add("default"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Take(t.Context(), nil, "default", 3, 0)
	if e := rpc.FromError(err); e.Reason != rpc.ShuttingDown || e.Code != codes.Unavailable {
		t.Errorf("code %v, reason %s: %v", e.Code, e.Reason, err)
	}
}

// A gateway forwards a request with its request ID, so that the request may be repeated.
func TestGatewayKeepsRequestIDs(t *testing.T) {
	t.Parallel()
	a := new(answers)
	if _, err := sourceOf(a).Next(t.Context(), "s", 2, "basket"); err != nil || a.next.GetRequestId() != "basket" || a.next.GetCount() != 2 {
		t.Errorf("requests of the member = %v, %v", a.next, err)
	}
}
