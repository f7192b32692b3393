package server_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// idStream is a stream of IDs. Its requests have ascending request IDs.
type idStream struct {
	t testing.TB
	snowraftv1.IdService_StreamIdsClient
	sent uint64
}

func (n *node) streamIDs() *idStream {
	stream, err := n.ids.StreamIds(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return &idStream{n.t, stream, 0}
}

func (s *idStream) ask(req *snowraftv1.GenerateIdsRequest) (id uint64) {
	s.t.Helper()
	s.sent++
	if err := s.Send(&snowraftv1.StreamIdsRequest{Request: req, Id: s.sent}); err != nil {
		s.t.Fatal(err)
	}
	return s.sent
}

func (s *idStream) answer() *snowraftv1.StreamIdsResponse {
	s.t.Helper()
	resp, err := s.Recv()
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// ahead returns an ID that this clock reaches after d.
func ahead(id int64, d time.Duration) int64 { return id + d.Milliseconds()<<22 }

func TestStreamOutlivesErrorOfRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startCluster(t, 1)[0].streamIDs()
		for _, test := range []struct {
			req    *snowraftv1.GenerateIdsRequest
			reason string
		}{
			{&snowraftv1.GenerateIdsRequest{Layout: "none"}, rpc.UnknownLayout},
			{&snowraftv1.GenerateIdsRequest{Count: 2_000_000}, rpc.InvalidArgument},
			{&snowraftv1.GenerateIdsRequest{Layout: string(make([]byte, 5000))}, rpc.InvalidArgument},
			{nil, ""},
		} {
			id := s.ask(test.req)
			resp := s.answer()
			if resp.GetId() != id || reason(status.ErrorProto(resp.GetError())) != test.reason || (resp.GetResponse() != nil) != (test.reason == "") {
				t.Errorf("%v was answered with %v, want %q", test.req, resp, test.reason)
			}
		}
	})
}

// Requests that wait for the clock do not delay later requests, up to a limit. The member answers all requests after the client
// has closed its side.
func TestWaitingStreamRequestsDelayNoOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startCluster(t, 1)[0].streamIDs()
		s.ask(nil)
		floor := ahead(expand(s.answer().GetResponse())[0], 700*time.Millisecond)
		waiting := map[uint64]bool{}
		for range 60 {
			waiting[s.ask(&snowraftv1.GenerateIdsRequest{After: floor})] = true
		}
		for range 100 {
			if id := s.ask(nil); s.answer().GetId() != id {
				t.Fatal("a request that could be answered at once was not")
			}
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		for range len(waiting) {
			resp := s.answer()
			if !waiting[resp.GetId()] || resp.GetError() != nil || expand(resp.GetResponse())[0] <= floor {
				t.Errorf("answer %v above %d", resp, floor)
			}
			delete(waiting, resp.GetId())
		}
		if _, err := s.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("the stream ends with %v", err)
		}
	})
}

// The member answers more requests than may wait at a time. Each request has its own timeout.
func TestStreamAnswersMoreRequestsThanMayWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		s := n.streamIDs()
		s.ask(nil)
		floor := ahead(expand(s.answer().GetResponse())[0], 500*time.Millisecond)
		const many = 200
		for range many {
			s.ask(&snowraftv1.GenerateIdsRequest{After: floor})
		}
		for range many {
			if resp := s.answer(); resp.GetError() != nil {
				t.Error(resp)
			}
		}
		s = n.streamIDs()
		s.ask(nil)
		far := ahead(expand(s.answer().GetResponse())[0], 900*time.Millisecond)
		if err := s.Send(&snowraftv1.StreamIdsRequest{Id: 1, Request: &snowraftv1.GenerateIdsRequest{After: far}, TimeoutMs: 1}); err != nil {
			t.Fatal(err)
		}
		resp := s.answer()
		if resp.GetError() == nil {
			t.Errorf("%v after a timeout of 1 ms", resp)
		}
	})
}

// While the maximum number of requests waits, the member reads the stream again after it has answered any one of them.
func TestFullStreamResumesAfterAnyAnswer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startCluster(t, 1)[0].streamIDs()
		s.ask(nil)
		now := expand(s.answer().GetResponse())[0]
		far := ahead(now, 900*time.Millisecond)
		s.ask(&snowraftv1.GenerateIdsRequest{After: ahead(now, 300*time.Millisecond)})
		for range 64 {
			s.ask(&snowraftv1.GenerateIdsRequest{After: far})
		}
		last, others := s.ask(nil), 0
		for resp := s.answer(); resp.GetId() != last; resp = s.answer() {
			if resp.GetError() != nil {
				t.Fatal(resp)
			}
			others++
		}
		if others > 1 {
			t.Errorf("the request behind was answered after %d others, want 1", others)
		}
	})
}

func TestStreamNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := nodes[0]
		n.createSequence(&snowraftv1.Sequence{Name: "strict", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT})
		for _, n := range nodes { // at the leader and at forwarding followers
			stream, err := n.sequences.StreamNumbers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			const many = 500
			for id := range uint64(many) {
				if err := stream.Send(&snowraftv1.StreamNumbersRequest{Request: &snowraftv1.NextNumbersRequest{Sequence: "strict", Count: 1}, Id: id + 1}); err != nil {
					t.Fatal(err)
				}
			}
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
			answered, numbers := map[uint64]bool{}, map[int64]bool{}
			for range many {
				resp, err := stream.Recv()
				if err != nil || resp.GetError() != nil || answered[resp.GetId()] || numbers[resp.GetResponse().GetFirst()] {
					t.Fatal(resp, err)
				}
				answered[resp.GetId()], numbers[resp.GetResponse().GetFirst()] = true, true
			}
			if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
				t.Errorf("the stream ends with %v", err)
			}
		}
	})
}

// An answer to a request with the ID 0 would announce the end of the stream.
func TestStreamRefusesTheID0(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		stream, err := startCluster(t, 1)[0].ids.StreamIds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for id := range uint64(2) {
			if err := stream.Send(&snowraftv1.StreamIdsRequest{Request: &snowraftv1.GenerateIdsRequest{Count: 1}, Id: 1 - id}); err != nil {
				t.Fatal(err)
			}
		}
		if resp, err := stream.Recv(); err != nil || resp.GetId() != 1 || resp.GetError() != nil {
			t.Errorf("request 1: %v, %v", resp, err)
		}
		if resp, err := stream.Recv(); reason(err) != rpc.InvalidArgument {
			t.Errorf("request 0: %v, %v", resp, err)
		}
	})
}

// A field that the member does not know may be a condition, so it must not be ignored on a stream either.
func TestStreamRefusesUnknownFields(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		n.createSequence(&snowraftv1.Sequence{Name: "orders"})
		stream, err := n.sequences.StreamNumbers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		unknown := protowire.AppendVarint(protowire.AppendTag(nil, 9999, protowire.VarintType), 1)
		for id := range uint64(4) {
			req := &snowraftv1.StreamNumbersRequest{Id: id + 1, Request: &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}}
			want := rpc.InvalidArgument
			switch id {
			case 0:
				req.ProtoReflect().SetUnknown(unknown)
			case 2:
				req.Request.ProtoReflect().SetUnknown(unknown)
			default: // a field of one request does not stay for the next one
				want = ""
			}
			if err := stream.Send(req); err != nil {
				t.Fatal(err)
			}
			resp, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if got := reason(status.ErrorProto(resp.GetError())); got != want {
				t.Errorf("request %d failed with %q, want %q", id+1, got, want)
			}
		}
	})
}

// A member that shuts down requests the end of streams, and answers the requests that were sent before the streams end.
func TestShutdownEndsStreamWithoutFailure(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		stream, err := snowraftv1.NewIdServiceClient(dial(t, n.server.APIAddr())).StreamIds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := &idStream{t, stream, 0}
		s.ask(nil)
		s.answer()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			n.stop()
		}()
		if resp := s.answer(); resp.GetId() != 0 {
			t.Fatalf("answer %v, want one with ID 0", resp)
		}
		if id := s.ask(nil); s.answer().GetId() != id {
			t.Error("a request that was sent before the end of the stream has no answer")
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("the stream ends with %v", err)
		}
		<-stopped
	})
}
