package frontend

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
)

// A stream of a caller without a valid token ends at its first request, so that unknown callers hold no memory for it.
func TestStreamOfUnauthenticatedCallerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, streamOfUnauthenticatedCallerEnds)
}

func streamOfUnauthenticatedCallerEnds(t *testing.T) {
	budget, connect := serveEcho(t, secret(), 256*mib)
	client := connect()
	for _, layout := range []string{"", "default", strings.Repeat("x", 2*maxMuxedBytes)} {
		stream, err := snowraftv1.NewIdServiceClient(client).StreamIds(t.Context())
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
	synctest.Wait()
	if held := budget.Held(); held > conn.Price+16<<10 {
		t.Errorf("%d bytes are held after the streams", held)
	}
}
