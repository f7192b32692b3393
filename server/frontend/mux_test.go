package frontend

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A stream of a caller without a valid token ends at its first request, so that strangers cannot take the places of all streams.
func TestStreamOfUnauthenticatedCallerEnds(t *testing.T) {
	t.Parallel()
	s, connect := serveEcho(t, secret())
	conn := connect()
	for _, layout := range []string{"", "default", strings.Repeat("x", 2*maxMuxedBytes)} {
		stream, err := snowraftv1.NewIdServiceClient(conn).StreamIds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&snowraftv1.StreamIdsRequest{Id: 7, Request: &snowraftv1.GenerateIdsRequest{Layout: layout}}); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil || resp.GetId() != 7 || resp.GetError() == nil {
			t.Errorf("the request was answered with %v, %v; want its error", resp, err)
		}
		if _, err := stream.Recv(); rpc.FromError(err).Reason != rpc.Unauthenticated {
			t.Errorf("the stream ends with %v, want reason %s", err, rpc.Unauthenticated)
		}
	}
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	if s.streams.all != 0 { // a stream releases its place before its end
		t.Errorf("%d streams of strangers are open", s.streams.all)
	}
}
