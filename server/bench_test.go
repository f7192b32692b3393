package server_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// byTurns runs the same work on a bare server and on a member in turns, so that the machine's other work affects both. It
// reports the rate of the member as a part of the bare server's rate: the median of the turns.
func byTurns(b *testing.B, requests int, bare, member func()) {
	bare()
	member()
	var took time.Duration
	var rates []float64
	for b.Loop() {
		began := time.Now()
		bare()
		between := time.Now()
		member()
		ofMember := time.Since(between)
		took += ofMember
		rates = append(rates, float64(between.Sub(began))/float64(ofMember))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*requests), "ns/request")
	b.ReportMetric(percentile(rates, 50), "of-bare-rate")
}

// percentile returns the value below which percent of all values are. It sorts all.
func percentile[T cmp.Ordered](all []T, percent int) T {
	slices.Sort(all)
	return all[len(all)*percent/100]
}

// BenchmarkUnary compares unary calls that a member answers from memory with the same calls
// of a gRPC server that does nothing.
func BenchmarkUnary(b *testing.B) {
	n := startCluster(b, 1)[0]
	n.createSequence(relaxed("bench"))
	bare := startEcho(b)
	const callers, calls = 64, 32
	type call func(context.Context) error
	next := func(address string) call {
		client := snowraftv1.NewSequenceServiceClient(dial(b, address))
		return func(ctx context.Context) error {
			_, err := client.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "bench", Count: 1})
			return err
		}
	}
	generate := func(address string) call {
		client := snowraftv1.NewIdServiceClient(dial(b, address))
		return func(ctx context.Context) error {
			_, err := client.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1})
			return err
		}
	}
	// many makes all calls and notes the 99th percentile of their durations.
	many := func(b *testing.B, one call, p99 *[]time.Duration) func() {
		each := make([]time.Duration, callers*calls)
		return func() {
			var wg sync.WaitGroup
			for caller := range callers {
				wg.Go(func() {
					for i := range calls {
						began := time.Now()
						if err := one(b.Context()); err != nil {
							b.Error(err)
							return
						}
						each[caller*calls+i] = time.Since(began)
					}
				})
			}
			wg.Wait()
			*p99 = append(*p99, percentile(each, 99))
		}
	}
	for _, of := range []struct {
		name string
		call func(address string) call
	}{{"Next", next}, {"GenerateIds", generate}} {
		b.Run(of.name, func(b *testing.B) {
			var ofBare, ofMember []time.Duration
			byTurns(b, callers*calls, many(b, of.call(bare), &ofBare), many(b, of.call(n.server.APIAddr()), &ofMember))
			ratios := make([]float64, len(ofMember))
			for turn := range ratios {
				ratios[turn] = float64(ofMember[turn]) / float64(ofBare[turn])
			}
			b.ReportMetric(percentile(ratios, 50), "of-bare-p99")
		})
	}
}

// BenchmarkHTTP compares the paths of a member for plain text and for JSON with a handler that prints a constant.
func BenchmarkHTTP(b *testing.B) {
	n := startCluster(b, 1)[0]
	n.createSequence(&snowraftv1.Sequence{Name: "bench", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, Start: new(int64(1_000_000))})
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "1234567\n") }))
	b.Cleanup(bare.Close)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/seq/bench", ""}, {"GET", "/id", ""},
		{"POST", "/v1/sequences:next", `{"sequence":"bench","count":1}`}, {"POST", "/v1/ids:generate", "{}"},
	} {
		b.Run(c.path[1:], func(b *testing.B) {
			byTurns(b, pipelined, newPipeline(b, strings.TrimPrefix(bare.URL, "http://"), c.method, c.path, c.body),
				newPipeline(b, n.server.HTTPAddr(), c.method, c.path, c.body))
		})
	}
}

// pipelined is the number of requests that are sent at once, so that the benchmark measures the server and not the round trip.
const pipelined = 64

// newPipeline returns a function that sends the same request many times over one connection.
func newPipeline(b *testing.B, address, method, path, body string) func() {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
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

// BenchmarkTokens compares unary calls with a token at a secured member with calls at a member of an open cluster.
func BenchmarkTokens(b *testing.B) {
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		b.Fatal(err)
	}
	open, judges := startCluster(b, 1)[0], startCluster(b, 1, func(cfg *server.Config) { cfg.Keys = keys })[0]
	secret := trust.NewTokenSecret()
	made, err := judges.server.Member().CreateToken(b.Context(), member.TokenSpec{
		Name: "bench", Hash: trust.HashTokenSecret(secret), Scopes: []string{"seq:next:orders/*", "ids:issue:default"},
	})
	if err != nil {
		b.Fatal(err)
	}
	token := trust.Token{ID: made.Token.ID, Secret: secret}.Text()
	const callers, calls = 64, 32
	many := func(address, token string) func() {
		client := snowraftv1.NewIdServiceClient(dial(b, address))
		ctx := as(b.Context(), token)
		return func() {
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range calls {
						if _, err := client.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		}
	}
	byTurns(b, callers*calls, many(open.server.APIAddr(), token), many(judges.server.APIAddr(), token))
}
