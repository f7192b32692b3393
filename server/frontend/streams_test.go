package frontend

import (
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// A token has a share of the streams, and so have all anonymous callers together. A stream that ends makes room for another
// stream.
func TestStreamsOfATokenAreBounded(t *testing.T) {
	t.Parallel()
	anonymous, err := trust.NewAuthorizer(noTable{}).Authenticate(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, greedy := range map[string]uint64{"token": 7, "anonymous callers": streamsOf(anonymous)} {
		t.Run(name, func(t *testing.T) { boundsStreamsOf(t, greedy) })
	}
}

func boundsStreamsOf(t *testing.T, greedy uint64) {
	t.Helper()
	const other = 8
	var s streams
	for range maxStreamsOf {
		if err := s.begin(greedy); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(token uint64) bool {
		err := s.begin(token)
		if err != nil && rpc.FromError(err).Reason != rpc.Overloaded {
			t.Fatal(err)
		}
		return err != nil
	}
	if !refused(greedy) {
		t.Error("a token has more than its share of the streams")
	}
	if refused(other) || refused(0) {
		t.Error("the streams of a token leave none for others")
	}
	s.end(greedy)
	if refused(greedy) {
		t.Error("a stream that ended makes no room")
	}
	for s.all < maxStreams {
		if refused(0) {
			t.Fatalf("refused with %d streams", s.all)
		}
	}
	if !refused(0) || !refused(9) {
		t.Errorf("more than %d streams are open", maxStreams)
	}
	for range s.all {
		s.end(0)
	}
}
