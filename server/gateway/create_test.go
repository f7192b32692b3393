package gateway

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// creations is a member that gives every creation the same answer, and stores the requests.
type creations struct {
	grpc.ClientConnInterface
	answer error
	names  []string
	others []any
}

func (c *creations) Invoke(_ context.Context, _ string, req, _ any, _ ...grpc.CallOption) error {
	name := req.(*snowraftv1.CreateSequenceRequest).GetSequence().GetName()
	if !proto.Equal(req.(proto.Message), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name}, OnDemand: true}) {
		c.others = append(c.others, req)
	}
	c.names = append(c.names, name)
	return c.answer
}

// The log decides whether an INCR at a gateway creates a sequence. After a refusal the gateway requests no creation for
// offAge.
func TestGatewayCreatesOnDemand(t *testing.T) {
	t.Parallel()
	var now int64
	to := &creations{answer: rpc.NewError(rpc.RedisCreateOff, "off")}
	p := process{&members{conn: to}, &Gateway{clock: func() clock.Reading { return clock.Reading{Mono: now} }}}
	failed := errors.New("no leader")
	for _, c := range []struct {
		at      int64
		name    string
		answer  error
		created bool
		err     error
	}{
		{5000, "a", to.answer, false, nil},
		{5999, "silent", nil, false, nil},
		{6000, "b", failed, false, failed},
		{6001, "c", nil, true, nil},
		{6002, "d", to.answer, false, nil},
	} {
		now, to.answer = c.at, c.answer
		if created, err := p.Create(t.Context(), c.name); created != c.created || !errors.Is(err, c.err) {
			t.Errorf("at %d ms: Create(%s) = %v, %v, want %v, %v", c.at, c.name, created, err, c.created, c.err)
		}
	}
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(to.names, want) || len(to.others) > 0 {
		t.Errorf("requests for %q, want %q; not on demand: %v", to.names, want, to.others)
	}
}
