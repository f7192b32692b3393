package frontend

import (
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
)

// A token has a share of the streams. A stream that ends makes room for another stream.
func TestStreamsOfATokenAreBounded(t *testing.T) {
	t.Parallel()
	const greedy, other = 7, 8
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
