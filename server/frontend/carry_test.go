package frontend

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/rpc"
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
	if waits.finish() {
		t.Error("two goroutines read the stream")
	}
	c.readers.Wait()
}

// While the maximum number of requests waits, no goroutine reads their stream. Once any of them is answered, a goroutine does.
func TestFullStreamIsReadAfterAnyAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		carries := *carriages[snowraftv1.SequenceService_StreamNumbers_FullMethodName]
		carries.confirms = false
		d := newDesk(t, &carries)
		for i := range maxCarried {
			d.ask(100 + uint64(i))
			if n := d.reading.Load(); n != 1 {
				t.Fatalf("%d goroutines read while %d requests wait, want 1", n, i+1)
			}
		}
		d.ask(200)
		if n := d.reading.Load(); n != 0 {
			t.Errorf("%d goroutines read while %d requests wait, want none", n, maxCarried+1)
		}
		go func() {
			select {
			case d.requests <- &snowraftv1.StreamNumbersRequest{Id: 2, Request: &snowraftv1.NextNumbersRequest{}}:
			case <-t.Context().Done():
			}
		}()
		d.release <- struct{}{} // releases the request that has waited longest
		d.answer(100)
		select {
		case id := <-d.answers:
			if id != 2 {
				t.Errorf("request %d was answered, want 2", id)
			}
		case <-time.After(time.Second):
			t.Error("the stream is not read, although a request was answered")
		}
	})
}

// A stream of a caller without a valid token ends at its first request, so that strangers cannot take the places of all streams.
func TestStreamOfUnauthenticatedCallerEnds(t *testing.T) {
	t.Parallel()
	s, connect := serveEcho(t, secret())
	conn := connect()
	for _, layout := range []string{"", "default", strings.Repeat("x", 2*maxCarriedBytes)} {
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
