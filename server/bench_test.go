package server_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// byTurns runs the same work on a bare server and on a member in turns, so that what
// else the machine does falls on both, and reports the member's rate next to the other's.
func byTurns(b *testing.B, requests int, bare, member func()) {
	bare()
	member()
	var bareTook, took time.Duration
	for b.Loop() {
		began := time.Now()
		bare()
		between := time.Now()
		member()
		bareTook += between.Sub(began)
		took += time.Since(between)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*requests), "ns/request")
	b.ReportMetric(float64(bareTook)/float64(took), "of-bare-rate")
}

// echo answers at once, with messages of the size that the product's have.
type echo struct {
	snowraftv1.UnimplementedSequenceServiceServer
	snowraftv1.UnimplementedIdServiceServer
}

func (echo) Next(_ context.Context, req *snowraftv1.NextRequest) (*snowraftv1.NextResponse, error) {
	return &snowraftv1.NextResponse{Sequence: req.GetSequence(), First: 1_000_000, Count: req.GetCount(), Increment: 1}, nil
}

func (echo) GenerateIds(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	return &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: 1 << 60, Count: 1, Step: 1}}}, nil
}

// BenchmarkUnary compares unary calls that a member answers from memory with the same calls
// of a gRPC server that does nothing.
func BenchmarkUnary(b *testing.B) {
	n := startCluster(b, 1)[0]
	n.createSequence(&snowraftv1.Sequence{Name: "bench"})
	bare := grpc.NewServer()
	snowraftv1.RegisterSequenceServiceServer(bare, echo{})
	snowraftv1.RegisterIdServiceServer(bare, echo{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = bare.Serve(l) }()
	b.Cleanup(bare.Stop)
	dial := func(address string) *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		return conn
	}
	const callers, calls = 32, 32
	many := func(call func() error) func() {
		return func() {
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range calls {
						if err := call(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		}
	}
	next := func(address string) func() {
		client := snowraftv1.NewSequenceServiceClient(dial(address))
		return many(func() error {
			_, err := client.Next(context.Background(), &snowraftv1.NextRequest{Sequence: "bench", Count: 1})
			return err
		})
	}
	generate := func(address string) func() {
		client := snowraftv1.NewIdServiceClient(dial(address))
		return many(func() error {
			_, err := client.GenerateIds(context.Background(), &snowraftv1.GenerateIdsRequest{Count: 1})
			return err
		})
	}
	b.Run("Next", func(b *testing.B) { byTurns(b, callers*calls, next(l.Addr().String()), next(n.server.APIAddr())) })
	b.Run("GenerateIds", func(b *testing.B) {
		byTurns(b, callers*calls, generate(l.Addr().String()), generate(n.server.APIAddr()))
	})
}

// BenchmarkPlainHTTP compares the plain paths of a member with a handler that prints a constant.
func BenchmarkPlainHTTP(b *testing.B) {
	n := startCluster(b, 1)[0]
	n.createSequence(&snowraftv1.Sequence{Name: "bench", Start: new(int64(1_000_000))})
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "1234567\n") }))
	b.Cleanup(bare.Close)
	for _, path := range []string{"/seq/bench", "/id"} {
		b.Run(path[1:], func(b *testing.B) {
			byTurns(b, pipelined, newPipeline(b, strings.TrimPrefix(bare.URL, "http://"), path), newPipeline(b, n.server.HTTPAddr(), path))
		})
	}
}

// pipelined is how many requests are sent at once, so that what is measured is the server at
// work and not the way there and back.
const pipelined = 64

// newPipeline returns a function that sends the same request many times over one connection.
func newPipeline(b *testing.B, address, path string) func() {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	request := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		b.Fatal(err)
	}
	one := make([]byte, 4096)
	n, err := conn.Read(one)
	if err != nil || !strings.HasPrefix(string(one[:n]), "HTTP/1.1 200") {
		b.Fatalf("%q, %v", one[:n], err)
	}
	requests, answers := bytes.Repeat([]byte(request), pipelined), make([]byte, n*pipelined)
	return func() {
		if _, err := conn.Write(requests); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, answers); err != nil {
			b.Fatal(err)
		}
	}
}
