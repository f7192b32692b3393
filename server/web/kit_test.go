package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/web"
	"github.com/snowraft/snowraft/trust"
)

// fakeBackend counts in memory. The sequence "dated" has a format, "broken"
// panics, "slow" waits for the request's end, and "none" does not exist.
type fakeBackend struct {
	mu    sync.Mutex
	id    uint64
	next  map[string]int64
	err   error             // error of every call, if not nil
	taken int               // numbers issued
	once  map[string][]byte // answers by request ID
}

func (b *fakeBackend) Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return 0, 0, b.err
	case sequence == "none":
		return 0, 0, &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownSequence, Message: "there is no sequence none"}
	case sequence == "broken":
		panic("broken")
	}
	first = b.next[sequence] + 1
	b.next[sequence] += int64(count)
	b.taken += int(count)
	return first, 1, ctx.Err()
}

func (b *fakeBackend) AppendNext(ctx context.Context, dst []byte, w io.Writer, sequence string, count uint64, requestID string) ([]byte, error) {
	if again := b.once[requestID]; again != nil {
		return append(dst, again...), nil
	}
	first, increment, err := b.Next(ctx, sequence, count)
	if err != nil {
		return dst, err
	}
	for i := range int64(count) {
		if sequence == "dated" {
			dst = append(dst, "ORD-"...)
		}
		dst = append(strconv.AppendInt(dst, first+i*increment, 10), '\n')
		if dst, err = web.Flush(w, dst); err != nil {
			return dst, nil
		}
	}
	if requestID != "" {
		b.once[requestID] = bytes.Clone(dst)
	}
	return dst, nil
}

func (b *fakeBackend) AppendIDs(_ context.Context, dst []byte, w io.Writer, layout string, count uint32) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return dst, b.err
	case layout != "" && layout != "default" && layout != "x":
		return dst, &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout, Message: "there is no layout " + layout}
	}
	b.taken += int(count)
	for range count {
		b.id++
		var err error
		if dst, err = web.Flush(w, append(strconv.AppendUint(dst, b.id, 10), '\n')); err != nil {
			break
		}
	}
	return dst, nil
}

// service answers every call with the fields of the request, and stores the request.
type service struct {
	snowraftv1.UnimplementedSequenceServiceServer
	snowraftv1.UnimplementedIdServiceServer
	snowraftv1.UnimplementedClusterServiceServer

	mu       sync.Mutex
	request  proto.Message
	metadata metadata.MD
	left     time.Duration // time until the deadline
	err      error
}

func (s *service) saw(ctx context.Context, req proto.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request = req
	s.metadata, _ = metadata.FromIncomingContext(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		s.left = time.Until(deadline)
	}
	return s.err
}

func (s *service) GetSequence(ctx context.Context, req *snowraftv1.GetSequenceRequest) (*snowraftv1.GetSequenceResponse, error) {
	return &snowraftv1.GetSequenceResponse{Sequence: &snowraftv1.Sequence{Name: req.GetName()}}, s.saw(ctx, req)
}

func (s *service) ListSequences(ctx context.Context, req *snowraftv1.ListSequencesRequest) (*snowraftv1.ListSequencesResponse, error) {
	return &snowraftv1.ListSequencesResponse{NextPageToken: "list"}, s.saw(ctx, req)
}

func (s *service) CreateSequence(ctx context.Context, req *snowraftv1.CreateSequenceRequest) (*snowraftv1.CreateSequenceResponse, error) {
	return &snowraftv1.CreateSequenceResponse{}, s.saw(ctx, req)
}

func (s *service) UpdateSequence(ctx context.Context, req *snowraftv1.UpdateSequenceRequest) (*snowraftv1.UpdateSequenceResponse, error) {
	return &snowraftv1.UpdateSequenceResponse{Sequence: req.GetSequence()}, s.saw(ctx, req)
}

func (s *service) DeleteSequence(ctx context.Context, req *snowraftv1.DeleteSequenceRequest) (*snowraftv1.DeleteSequenceResponse, error) {
	return &snowraftv1.DeleteSequenceResponse{}, s.saw(ctx, req)
}

func (s *service) NextNumbers(ctx context.Context, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	return &snowraftv1.NextNumbersResponse{First: 1 << 60, Count: req.GetCount(), Increment: 1}, s.saw(ctx, req)
}

func (s *service) GetLast(ctx context.Context, req *snowraftv1.GetLastRequest) (*snowraftv1.GetLastResponse, error) {
	return &snowraftv1.GetLastResponse{}, s.saw(ctx, req)
}

func (s *service) GenerateIds(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	return &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: 1 << 60, Count: req.GetCount(), Step: 1}}}, s.saw(ctx, req)
}

func (s *service) RemoveMember(ctx context.Context, req *snowraftv1.RemoveMemberRequest) (*snowraftv1.RemoveMemberResponse, error) {
	return &snowraftv1.RemoveMemberResponse{Member: &snowraftv1.Member{Name: req.GetMember()}}, s.saw(ctx, req)
}

// rig is the handler over a fake backend and a real gRPC server.
type rig struct {
	t       testing.TB
	backend *fakeBackend
	service *service
	handler http.Handler

	mu     sync.Mutex
	served []string
}

func newRig(t testing.TB, change ...func(*web.Config)) *rig {
	t.Helper()
	r := &rig{t: t, backend: &fakeBackend{next: make(map[string]int64), once: make(map[string][]byte)}, service: &service{}}
	l := bufconn.Listen(64 << 10)
	g := grpc.NewServer()
	snowraftv1.RegisterSequenceServiceServer(g, r.service)
	snowraftv1.RegisterIdServiceServer(g, r.service)
	snowraftv1.RegisterClusterServiceServer(g, r.service)
	go g.Serve(l)
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	cfg := web.Config{
		Gate: openGate{}, Console: noPages{},
		Authenticate: func(*http.Request, string) (*trust.Principal, error) { return trust.Open(), nil },
		Backend:      r.backend, Conn: conn, Logger: slog.New(slog.DiscardHandler),
		Served: func(_ context.Context, method string, err error, _ time.Duration) {
			r.mu.Lock()
			defer r.mu.Unlock()
			code, reason := codes.OK, ""
			if err != nil {
				e := rpc.FromError(err)
				code, reason = e.Code, e.Reason
			}
			r.served = append(r.served, strings.TrimSpace(fmt.Sprintf("%s %v %s", method, code, reason)))
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	if r.handler, err = web.New(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask sends a request and returns the answer. headers are "Name: value".
func (r *rig) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, target, reader)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w
}

// want checks the status and the whole body of an answer.
func want(t testing.TB, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if w.Code != status || w.Body.String() != body {
		t.Errorf("answered %d %q, want %d %q", w.Code, w.Body, status, body)
	}
}

// openGate rejects no request.
type openGate struct{}

func (openGate) Enter() error { return nil }
func (openGate) Leave()       {}

// noPages is a Console without pages.
type noPages struct{ web.Console }

func (noPages) Has(string) bool { return false }
