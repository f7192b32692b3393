package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/mux"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

type numbersStream = grpc.BidiStreamingServer[snowraftv1.StreamNumbersRequest, snowraftv1.StreamNumbersResponse]

// fakeLeader answers calls with numbers below 1,000, and streams with a function of the test.
type fakeLeader struct {
	snowraftv1.UnimplementedSequenceServiceServer
	calls, streams atomic.Int64
	stream         func(numbersStream) error
}

func (l *fakeLeader) NextNumbers(_ context.Context, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	return &snowraftv1.NextNumbersResponse{First: l.calls.Add(1), Count: req.GetCount(), Increment: 1}, nil
}

func (l *fakeLeader) StreamNumbers(s numbersStream) error {
	l.streams.Add(1)
	return l.stream(s)
}

// answerAll answers the requests of a stream with numbers from 1,000.
func answerAll(s numbersStream) error {
	for {
		req, err := s.Recv()
		if err != nil {
			return err
		}
		if err := s.Send(&snowraftv1.StreamNumbersResponse{Id: req.GetId(), Response: &snowraftv1.NextNumbersResponse{
			First: 1000 + int64(req.GetId()), Count: req.GetRequest().GetCount(), Increment: 1,
		}}); err != nil {
			return err
		}
	}
}

// forwards returns a function that forwards a request to a fake leader.
func forwards(t *testing.T, l *fakeLeader) func(ctx context.Context) (first int64, err error) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	snowraftv1.RegisterSequenceServiceServer(s, l)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	p := newPeers(func() (string, string) { return "follower", "cluster" }, nil, nil)
	t.Cleanup(p.close)
	return func(ctx context.Context) (int64, error) {
		n, err := p.NextAtLeader(trust.WithPrincipal(ctx, trust.Open()), cluster.Member{ID: "leader", API: listener.Addr().String()}, "s", 1, "")
		return n.First, err
	}
}

// untilStreamed forwards requests until an answer comes over the stream.
func untilStreamed(t *testing.T, next func(context.Context) (int64, error)) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		switch first, err := next(t.Context()); {
		case err != nil:
			t.Fatal(err)
		case first > 1000:
			return
		case time.Now().After(deadline):
			t.Fatal("no answer came over a stream")
		}
	}
}

func TestForwardedNumbersShareAStream(t *testing.T) {
	t.Parallel()
	marks := make(chan metadata.MD, 1)
	l := &fakeLeader{stream: func(s numbersStream) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		marks <- md
		return answerAll(s)
	}}
	next := forwards(t, l)
	untilStreamed(t, next)
	before := l.calls.Load()
	for range 100 {
		if _, err := next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if calls, streams := l.calls.Load()-before, l.streams.Load(); calls > 0 || streams != 1 {
		t.Errorf("100 requests made %d calls and %d streams, want one stream", calls, streams)
	}
	got := <-marks
	for key, want := range map[string]string{rpc.ForwardedBy: "follower", rpc.ForwardedInto: "cluster", rpc.ForwardedFor: trust.Open().Actor()} {
		if v := got.Get(key); len(v) != 1 || v[0] != want {
			t.Errorf("%s = %q, want %q", key, v, want)
		}
	}
}

// The leader may have issued the numbers of an unanswered request, so the outcome is unknown.
func TestForwardedNumbersOfBrokenStreamAreUnknown(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{})
	l := &fakeLeader{stream: func(s numbersStream) error {
		if err := answerOne(s); err != nil {
			return err
		}
		_, err := s.Recv()
		<-broken
		return err // without an answer
	}}
	next := forwards(t, l)
	untilStreamed(t, next)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("NextAtLeader() of a canceled caller = %v", err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := next(t.Context())
		failed <- err
	}()
	close(broken)
	if err := <-failed; err != nil && !errors.Is(err, cluster.ErrUnknownOutcome) {
		t.Errorf("NextAtLeader() = %v, want ErrUnknownOutcome", err)
	}
	untilStreamed(t, next) // over another stream
}

func TestBrokenStreamHasPlainReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{io.EOF, "the stream ended"},
		{status.Error(codes.Unavailable, `connection error: desc = "transport: EOF"`), "EOF"},
	} {
		p := &pendingForward{answer: make(chan forwarded, 1)}
		p.Receive(nil, &mux.Ended{Cause: c.err})
		if err, want := (<-p.answer).err, "the connection to the leader broke, the outcome is unknown: "+c.want; err.Error() != want {
			t.Errorf("the end of a stream by %v answers %q, want %q", c.err, err, want)
		}
	}
}

func answerOne(s numbersStream) error {
	req, err := s.Recv()
	if err != nil {
		return err
	}
	return s.Send(&snowraftv1.StreamNumbersResponse{Id: req.GetId(), Response: &snowraftv1.NextNumbersResponse{First: 1001, Count: 1, Increment: 1}})
}

// A leader that shuts down answers the requests that were sent, and no request fails.
func TestForwardedNumbersSurviveEndOfStream(t *testing.T) {
	t.Parallel()
	l := &fakeLeader{stream: func(s numbersStream) error {
		if err := answerOne(s); err != nil {
			return err
		}
		if err := s.Send(&snowraftv1.StreamNumbersResponse{}); err != nil {
			return err
		}
		return answerAll(s)
	}}
	next := forwards(t, l)
	for range 20 {
		untilStreamed(t, next)
	}
	if n := l.streams.Load(); n < 2 {
		t.Errorf("%d streams, want more than one", n)
	}
}

// A member sends requests to a leader without streams as calls.
func TestForwardedNumbersWithoutStreams(t *testing.T) {
	t.Parallel()
	l := &fakeLeader{stream: func(numbersStream) error { return status.Error(codes.Unimplemented, "no streams") }}
	next := forwards(t, l)
	for range 50 {
		if _, err := next(t.Context()); err != nil && !errors.Is(err, cluster.ErrUnknownOutcome) {
			t.Fatal(err)
		}
	}
	if n := l.calls.Load(); n < 40 {
		t.Errorf("%d calls of 50 requests", n)
	}
	if n := l.streams.Load(); n > 3 {
		t.Errorf("%d streams were tried, want at most one per second", n)
	}
}
