package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// outcome makes one call and returns its results.
func outcome(t *testing.T, c Caller) (numbers uint64, held []Span, reason string) {
	t.Helper()
	seen := NewSeen(1, DefaultSpans)
	got := &Receipt{check: startChecker(seen, 1), step: 1}
	defer got.check.end()
	err := c.Call(t.Context(), got)
	if err != nil {
		reason = reasonOf(err)
	}
	return got.numbers, got.buffer, reason
}

func expect(t *testing.T, name string, c Caller, want string) {
	t.Helper()
	numbers, held, reason := outcome(t, c)
	if got := strings.TrimSpace(fmt.Sprint(numbers, held, " ", reason)); got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
}

// fakeIDs answers with the ranges that a test has prepared.
type fakeIDs struct {
	snowraftv1.IdServiceClient
	snowraftv1.SequenceServiceClient
	ids  *snowraftv1.GenerateIdsResponse
	next *snowraftv1.NextNumbersResponse
	err  error
}

func (f *fakeIDs) GenerateIds(context.Context, *snowraftv1.GenerateIdsRequest, ...grpc.CallOption) (*snowraftv1.GenerateIdsResponse, error) {
	return f.ids, f.err
}

func (f *fakeIDs) NextNumbers(context.Context, *snowraftv1.NextNumbersRequest, ...grpc.CallOption) (*snowraftv1.NextNumbersResponse, error) {
	return f.next, f.err
}

func TestGRPCCallers(t *testing.T) {
	t.Parallel()
	ids := func(f *fakeIDs, count uint32) Caller {
		return &IDs{Client: f, Request: &snowraftv1.GenerateIdsRequest{Count: count}, Timeout: time.Minute}
	}
	next := func(r *snowraftv1.NextNumbersResponse, count uint32) Caller {
		return &Next{Client: &fakeIDs{next: r}, Request: &snowraftv1.NextNumbersRequest{Count: count}, Timeout: time.Minute}
	}
	ranges := &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: 5, Count: 3, Step: 1}, {First: 10, Count: 1, Step: 1}}}
	expect(t, "ranges", ids(&fakeIDs{ids: ranges}, 4), "4 [{5 7} {10 10}]")
	expect(t, "packed", ids(&fakeIDs{ids: &snowraftv1.GenerateIdsResponse{Ids: []int64{5, 6, 9}}}, 3), "3 [{5 6} {9 9}]")
	expect(t, "too few", ids(&fakeIDs{ids: ranges}, 5), "4 [{5 7} {10 10}] WRONG_COUNT")
	expect(t, "a refusal", ids(&fakeIDs{err: &rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind}}, 1), "0 [] CLOCK_BEHIND")
	expect(t, "no connection", ids(&fakeIDs{err: &rpc.Error{Code: codes.Unavailable}}, 1), "0 [] CONNECTION")
	expect(t, "no answer", ids(&fakeIDs{err: &rpc.Error{Code: codes.DeadlineExceeded}}, 1), "0 [] TIMEOUT")
	expect(t, "another code", ids(&fakeIDs{err: &rpc.Error{Code: codes.Internal}}, 1), "0 [] INTERNAL")
	expect(t, "numbers", next(&snowraftv1.NextNumbersResponse{First: 7, Count: 3, Increment: 1}, 3), "3 [{7 9}]")
	expect(t, "numbers that descend", next(&snowraftv1.NextNumbersResponse{First: 9, Count: 3, Increment: -1}, 3), "3 [{7 9}]")
}

func TestHTTPCaller(t *testing.T) {
	t.Parallel()
	requests := make(chan string, 20)
	conns := make(chan struct{}, 20)
	var slow atomic.Bool
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Method + " " + r.URL.String()
		switch r.URL.Path {
		case "/id":
			fmt.Fprint(w, "5\n6\n-3\n")
		case "/formatted":
			fmt.Fprint(w, "INV-1\n")
		case "/refused":
			http.Error(w, "CLOCK_BEHIND: by 5 s", http.StatusServiceUnavailable)
		case "/slow":
			if slow.Swap(true) {
				<-r.Context().Done()
			}
			fmt.Fprint(w, "5\n")
		default:
			http.Error(w, "no: such page", http.StatusNotFound)
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns <- struct{}{}
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	open := func(method, path string, count uint64, timeout time.Duration) *HTTP {
		c := NewHTTP(s.Listener.Addr().String(), method, path, count, timeout, Access{})
		t.Cleanup(c.Close)
		return c
	}
	c := open(http.MethodPost, "/id?count=3", 3, time.Minute)
	for range 2 {
		expect(t, "numbers", c, "3 [{5 6} {18446744073709551613 18446744073709551613}]")
	}
	if got := <-requests; got != "POST /id?count=3" || len(conns) != 1 {
		t.Errorf("%s on %d connections, want one that is kept", got, len(conns))
	}
	expect(t, "too few", open(http.MethodGet, "/id", 4, time.Minute), "3 [{5 6} {18446744073709551613 18446744073709551613}] WRONG_COUNT")
	expect(t, "a format", open(http.MethodGet, "/formatted", 1, time.Minute), "0 [] NO_NUMBER")
	expect(t, "a refusal", open(http.MethodGet, "/refused", 1, time.Minute), "0 [] CLOCK_BEHIND")
	expect(t, "another page", open(http.MethodGet, "/nope", 1, time.Minute), "0 [] HTTP_404")
	c = open(http.MethodGet, "/slow", 1, time.Minute)
	expect(t, "an answer", c, "1 [{5 5}]")
	c.timeout = time.Millisecond // the connection exists: a new one may take longer
	expect(t, "no answer", c, "0 [] TIMEOUT")
	counted := &Receipt{}
	if err := open(http.MethodGet, "/formatted", 1, time.Minute).Call(t.Context(), counted); err != nil || counted.numbers != 1 {
		t.Errorf("without a check %d numbers, %v, want one", counted.numbers, err)
	}
}

func TestRedisCaller(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 10)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for {
				request := make([]byte, len("*2\r\n$4\r\nINCR\r\n$3\r\nkey\r\n")*2)
				if _, err := io.ReadFull(in, request); err != nil {
					break
				}
				if string(request) != strings.Repeat("*2\r\n$4\r\nINCR\r\n$3\r\nkey\r\n", 2) {
					t.Errorf("asked %q", request)
				}
				answer := <-answers
				if answer == "" {
					break
				}
				_, _ = io.WriteString(conn, answer)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-served })
	c := NewRedis(l.Addr().String(), "key", 2, time.Minute, Access{})
	defer c.Close()
	for _, s := range []struct{ name, answer, want string }{
		{"numbers", ":5\r\n:6\r\n", "2 [{5 6}]"},
		{"a refusal between", "-CLOCK_BEHIND by 5 s\r\n:7\r\n", "1 [{7 7}] CLOCK_BEHIND"},
		{"the connection stays open after it", ":8\r\n:-9\r\n", "2 [{8 8} {18446744073709551607 18446744073709551607}]"},
		{"it is closed", "", "0 [] CONNECTION"},
		{"another is made", ":8\r\n:9\r\n", "2 [{8 9}]"},
		{"no number", "+OK\r\n+OK\r\n", "0 [] MALFORMED"},
	} {
		answers <- s.answer
		expect(t, s.name, c, s.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Call(ctx, &Receipt{}); err == nil {
		t.Error("a call that was cancelled succeeded")
	}
	if _, refused := errors.AsType[*Refusal](c.Call(ctx, &Receipt{})); !refused {
		t.Error("the error has no reason")
	}
	answers <- "" // answer to a request that may have been sent
}
