package frontend

import (
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// endedStream is a stream whose client has ended it.
type endedStream struct{ grpc.ServerStream }

func (endedStream) RecvMsg(any) error { return io.EOF }

// A request that began to wait while all streams were taken lets its stream be read once there is room. It then ends like
// any other request.
func TestRequestEndsThatWaitedForPlaceOfStream(t *testing.T) {
	t.Parallel()
	s, _ := small(t, nil)
	c := &carrier{Server: s, ss: endedStream{}, ctx: t.Context(), carries: carriages[snowraftv1.IdService_StreamIds_FullMethodName]}
	for range maxStreams {
		if err := s.streams.begin(0); err != nil {
			t.Fatal(err)
		}
	}
	waits := c.begin(c.carries.request())
	waits.Done()
	if waits.passed {
		t.Fatal("another goroutine reads, although there are too many streams")
	}
	s.streams.end(0)
	waits.Done()
	if !waits.passed {
		t.Fatal("no other goroutine reads, although there is room for a stream")
	}
	over := make(chan bool, 1)
	go func() { over <- waits.finish() }()
	select {
	case continues := <-over:
		if continues {
			t.Error("two goroutines read the stream")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the request does not end")
	}
	c.readers.Wait()
}
