package frontend

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/mux"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/internal/slots"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

// scripted is a source whose IDs of the layout "soon" are not in memory. The layout "broken" panics at once, and "broken soon" later.
type scripted struct{ kernel.Source }

func (scripted) TryTake(ids []allocator.Range, layout string, count uint32, _ uint64) ([]allocator.Range, uint32) {
	if layout == "broken" {
		panic("broken")
	}
	if strings.HasSuffix(layout, "soon") {
		return append(ids, allocator.Range{First: 1, Count: 1, Step: 1}), count - 1
	}
	return append(ids, allocator.Range{First: 1, Count: count, Step: 1}), 0
}

func (scripted) Take(_ context.Context, ids []allocator.Range, layout string, count uint32, _ uint64) ([]allocator.Range, error) {
	if layout == "broken soon" {
		panic("broken")
	}
	return append(ids, allocator.Range{First: 100, Count: count, Step: 1}), nil
}

func (scripted) TryNext(sequence string, count uint64) (member.Numbering, bool) {
	return member.Numbering{Numbers: allocator.Numbers{First: 1, Count: count}}, sequence == "now"
}

// Begin ends calls for the sequence "shared".
func (scripted) Begin(_ context.Context, sequence string, count uint64, done func(member.Numbering, error)) bool {
	if sequence != "shared" {
		return false
	}
	go done(member.Numbering{Numbers: allocator.Numbers{First: 200, Count: count}}, nil)
	return true
}

func (scripted) Next(_ context.Context, _ string, count uint64, _ string) (member.Numbering, error) {
	return member.Numbering{Numbers: allocator.Numbers{First: 100, Count: count}}, nil
}

// A request on a stream has the answer of its call, whether it waits or not. A failure ends its request only. Large answers take
// memory until they are sent.
func TestRequestsOnStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, requestsOnStreams)
}

func requestsOnStreams(t *testing.T) {
	s := New(Config{What: "member", State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Logger: slog.New(slog.DiscardHandler)})
	s.kernel.Source = scripted{}
	g := s.newGRPC()
	snowraftv1.RegisterIdServiceServer(g, snowraftv1.UnimplementedIdServiceServer{})
	snowraftv1.RegisterSequenceServiceServer(g, snowraftv1.UnimplementedSequenceServiceServer{})
	budget, client := overPipe(t, g)
	ids, err := snowraftv1.NewIdServiceClient(client).StreamIds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		layout string
		count  uint32
		ranges int
		reason string
	}{
		{"", 5, 1, ""},
		{"soon", 5, 2, ""},
		{"broken", 5, 0, rpc.Internal},
		{"broken soon", 5, 0, rpc.Internal},
		{"", 2_000_000, 0, rpc.InvalidArgument},
		{"", 100_000, 1, ""},
		{"soon", 100_000, 2, ""},
		{"broken", 100_000, 0, rpc.Internal},
		{"", 1, 1, ""},
	} {
		req := &snowraftv1.StreamIdsRequest{Id: uint64(i + 1), Request: &snowraftv1.GenerateIdsRequest{Layout: c.layout, Count: c.count}}
		if err := ids.Send(req); err != nil {
			t.Fatal(err)
		}
		resp, err := ids.Recv()
		if err != nil || resp.GetId() != req.GetId() || rpc.FromError(status.ErrorProto(resp.GetError())).Reason != c.reason || len(resp.GetResponse().GetRanges()) != c.ranges {
			t.Errorf("%d IDs of %q: %v, %v", c.count, c.layout, resp, err)
		}
	}
	numbers, err := snowraftv1.NewSequenceServiceClient(client).StreamNumbers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"now", "soon", "shared"} {
		if err := numbers.Send(&snowraftv1.StreamNumbersRequest{Id: 7, Request: &snowraftv1.NextNumbersRequest{Sequence: name, Count: 3}}); err != nil {
			t.Fatal(err)
		}
		if resp, err := numbers.Recv(); err != nil || resp.GetId() != 7 || resp.GetResponse().GetFirst() != []int64{1, 100, 200}[i] {
			t.Errorf("numbers of %q: %v, %v", name, resp, err)
		}
	}
	for _, end := range []func() error{ids.CloseSend, numbers.CloseSend} {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	if _, err := ids.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
	synctest.Wait()
	if held := budget.Held(); held > conn.Price+16<<10 {
		t.Errorf("%d bytes are held after the streams", held)
	}
}

// failing is a service that panics.
type failing struct {
	snowraftv1.UnimplementedIdServiceServer
}

func (failing) GenerateIds(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	panic("broken")
}

// A call that panics returns the memory for its answer.
func TestPanicReturnsMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, panicReturnsMemory)
}

func panicReturnsMemory(t *testing.T) {
	s := New(Config{What: "member", State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Logger: slog.New(slog.DiscardHandler)})
	g := s.newGRPC()
	snowraftv1.RegisterIdServiceServer(g, failing{})
	budget, client := overPipe(t, g)
	_, err := snowraftv1.NewIdServiceClient(client).GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Count: 100_000})
	synctest.Wait()
	if held := budget.Held(); held > conn.Price+16<<10 || rpc.FromError(err).Reason != rpc.Internal {
		t.Errorf("%v, and %d bytes are held", err, held)
	}
}

// overPipe serves in memory, and returns the memory of its clients and a client.
func overPipe(t *testing.T, g *grpc.Server) (*slots.Budget, *grpc.ClientConn) {
	t.Helper()
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	budget := conn.NewBudget(100, 256*mib)
	go func() { _ = g.Serve(conn.Listen(remoteListener{pipes}, budget, func(net.Conn) {})) }()
	t.Cleanup(g.Stop)
	client, err := grpc.NewClient("passthrough:///pipe", grpc.WithContextDialer(pipes.dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return budget, client
}

// issuer is a table whose tokens may take numbers until they are revoked. Then they have another scope.
type issuer struct{ revocable }

func (i issuer) Token(id uint64) (*trust.Record, bool) {
	record, ok := i.oneSecret.Token(id)
	if !i.revoked.Load() {
		record.Scopes = []trust.Scope{"seq:next:*"}
	}
	return record, ok
}

// A request whose caller loses its right while the request waits for memory gets nothing.
func TestRequestOfRevokedTokenAfterWaitForMemory(t *testing.T) {
	t.Parallel()
	for _, revoked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			table := issuer{revocable{oneSecret{secret: trust.NewTokenSecret()}, new(atomic.Bool)}}
			auth := &Auth{Tokens: trust.NewAuthorizer(table)}
			caller, err := auth.Tokens.Authenticate(t.Context(), table.text(17))
			if err != nil {
				t.Fatal(err)
			}
			s := New(Config{State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Auth: auth, Logger: slog.New(slog.DiscardHandler)})
			s.kernel.Source = scripted{}
			c, ctx := accepted(t, slots.NewBudget(1, 1, 8*mib, conn.Price), nil)
			const method = snowraftv1.SequenceService_StreamNumbers_FullMethodName
			m := &muxed{Server: s, ctx: ctx, rule: rpc.RuleOf(method), method: s.kernel.Of(kernel.GRPC, method[1:]), conn: c, caller: caller}
			j := &job{muxed: m, request: newRequest(method)()}
			r := j.request.(*numberRequest)
			r.in.Request = &snowraftv1.NextNumbersRequest{Sequence: "now", Count: limits.Formatted}

			held := int64(0)
			for c.TryReserve(64 << 10) {
				held += 64 << 10
			}
			if outcome, _ := j.Try(time.Now(), time.Now().Add(time.Minute)); outcome != mux.Waits {
				t.Fatalf("the request is answered without memory: %v", j.err)
			}
			waiting := make(chan struct{})
			go func() {
				defer close(waiting)
				j.Wait(ctx)
			}()
			synctest.Wait()
			table.revoked.Store(revoked)
			c.Charge(-held)
			<-waiting
			if (r.out.Response == nil) != revoked || (j.err != nil) != revoked {
				t.Errorf("token revoked: %v: answered %v, %v", revoked, r.out.Response, j.err)
			}
			_ = j.Answer()
			if j.large != nil {
				j.large.drop()
			}
			j.Clear()
		})
	}
}

// sharing is a source with shared calls.
type sharing struct {
	scripted
	calls *share.Calls[member.Numbering]
}

func (s sharing) Begin(ctx context.Context, sequence string, count uint64, done func(member.Numbering, error)) bool {
	s.calls.Begin(ctx, share.Key{Sequence: sequence}, count, done)
	return true
}

// A request whose numbers come from a shared call waits until its deadline or the end of its stream, and no longer. The
// stream returns its memory.
func TestRequestsOfSharedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{What: "member", State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Logger: slog.New(slog.DiscardHandler)})
		answers := make(chan int64)
		defer close(answers)
		never := func(error) bool { return false }
		s.kernel.Source = sharing{calls: share.New(limits.Count, time.Hour, never, func(context.Context, share.Key, uint64) (member.Numbering, error) {
			return member.Numbering{Numbers: allocator.Numbers{First: <-answers, Count: 1}}, nil
		})}
		g := s.newGRPC()
		snowraftv1.RegisterSequenceServiceServer(g, snowraftv1.UnimplementedSequenceServiceServer{})
		budget, client := overPipe(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := snowraftv1.NewSequenceServiceClient(client).StreamNumbers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for id, timeout := range []uint32{0, 5000, 100, 0} {
			req := &snowraftv1.StreamNumbersRequest{Id: uint64(id + 1), TimeoutMs: timeout, Request: &snowraftv1.NextNumbersRequest{Sequence: "strict", Count: 1}}
			if err := stream.Send(req); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		for _, want := range []struct {
			id    uint64
			after time.Duration
		}{{3, 100 * time.Millisecond}, {2, 5 * time.Second}} {
			resp, err := stream.Recv()
			if err != nil || resp.GetId() != want.id || codes.Code(resp.GetError().GetCode()) != codes.DeadlineExceeded || time.Since(began) != want.after {
				t.Errorf("%v, %v after %v, want the deadline of %d after %v", resp, err, time.Since(began), want.id, want.after)
			}
		}
		answers <- 7
		if resp, err := stream.Recv(); err != nil || resp.GetId() != 1 || resp.GetResponse().GetFirst() != 7 {
			t.Errorf("%v, %v, want the answer", resp, err)
		}
		cancel()
		synctest.Wait()
		if held := budget.Held(); held > conn.Price+16<<10 {
			t.Errorf("%d bytes are held after the stream", held)
		}
	})
}

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
