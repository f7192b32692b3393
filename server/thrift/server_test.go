package thrift_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/thrift"
	"github.com/snowraft/snowraft/trust"
)

func TestMethodsInEveryForm(t *testing.T) {
	t.Parallel()
	for _, framed := range []bool{true, false} {
		for _, strict := range []bool{true, false} {
			f := &fake{}
			_, address := open(t, f)
			call := client(t, address, framed, strict)
			for i := range int64(3) {
				for method, want := range map[string]int64{"get_worker_id": 7, "get_datacenter_id": 3, "get_timestamp": 1_700_000_000_123} {
					if got, err := call(method, ""); err != nil || got != want {
						t.Errorf("framed %t, strict %t: %s() = %d, %v, want %d", framed, strict, method, got, err, want)
					}
				}
				if got, err := call("get_id", "web-app_2"); err != nil || got != 3*i+3 {
					t.Errorf("framed %t, strict %t: get_id() = %d, %v, want %d", framed, strict, got, err, 3*i+3)
				}
			}
			if len(f.agents) != 3 || f.agents[0] != "web-app_2" {
				t.Errorf("counted agents %q", f.agents)
			}
		}
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	f := &fake{}
	_, address := open(t, f)
	call := client(t, address, true, true)
	fails := func(method, agent string, kind int32, want string) {
		t.Helper()
		_, err := call(method, agent)
		var e apache.TApplicationException
		if !errors.As(err, &e) || e.TypeId() != kind || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s(%.20q) = %v, want an exception %d %q", method, agent, err, kind, want)
		}
	}
	for _, agent := range []string{"", "1a", "-a", "_", "a b", "a\x00", "ä", "a.b", strings.Repeat("a", 257)} {
		fails("get_id", agent, apache.INTERNAL_ERROR, "InvalidUserAgentError: ")
	}
	if f.last != 0 || len(f.agents) != 0 {
		t.Error("an ID was issued to an invalid user agent")
	}
	fails("get_ids", "", apache.UNKNOWN_METHOD, "unknown method")
	f.failure = rpc.NewError(rpc.ClockBehind, "clock is 5000 ms behind")
	fails("get_id", "a", apache.INTERNAL_ERROR, "InvalidSystemClock: clock is 5000 ms behind [CLOCK_BEHIND]")
	f.failure = rpc.NewError(rpc.WindowEnded, "window ended")
	fails("get_worker_id", "", apache.INTERNAL_ERROR, "window ended [WINDOW_ENDED]")
	f.failure = nil
	if got, err := call("get_id", "a"); err != nil || got != 1 {
		t.Errorf("get_id() after exceptions = %d, %v, want 1 on the same connection", got, err)
	}
}

func TestCallersAreAnonymous(t *testing.T) {
	t.Parallel()
	f := &fake{as: trust.Member("m")}
	_, address := open(t, f)
	call := client(t, address, false, true)
	if _, err := call("get_id", "a"); err != nil || f.caller != f.as {
		t.Errorf("get_id() by %v, %v, want the anonymous principal", f.caller, err)
	}
	f.denied = &trust.Denied{Detail: "no"}
	if _, err := call("get_id", "a"); err == nil || f.last != 1 {
		t.Errorf("get_id() without a principal = %v after %d IDs", err, f.last)
	}
}

// Also callers that nothing authenticates count under the names of methods only.
func TestUnknownMethodsCountAsOthers(t *testing.T) {
	t.Parallel()
	f := &fake{denied: errors.New("no member can be reached"), counted: make(chan string, 1)}
	_, address := open(t, f)
	for method, want := range map[string]string{"bad\xff": "other", "get_id": "get_id", "get_timestamp": "get_timestamp"} {
		if _, err := client(t, address, true, true)(method, "a"); err == nil {
			t.Errorf("%q is served", method)
		}
		if got := <-f.counted; got != want {
			t.Errorf("%q counts as %q, want %q", method, got, want)
		}
	}
}

// TestPipelinedRequests sends several requests at once. No buffer loses a request.
func TestPipelinedRequests(t *testing.T) {
	t.Parallel()
	for _, framed := range []bool{true, false} {
		_, address := open(t, &fake{})
		nc := dial(t, address)
		const requests = 5
		if _, err := nc.Write(bytes.Repeat(request(framed, "get_id", "a"), requests)); err != nil {
			t.Fatal(err)
		}
		for i := range requests {
			p := apache.NewTBinaryProtocolConf(apache.NewStreamTransportR(bufio.NewReader(reply(t, nc, framed))), nil)
			name, kind, _, err := p.ReadMessageBegin(t.Context())
			if err != nil || name != "get_id" || kind != apache.REPLY {
				t.Fatalf("framed %t, reply %d: %q, %v, %v", framed, i, name, kind, err)
			}
		}
	}
}

// TestStrangersAreCut sends input that is not a request. The server closes the connection without a reply.
func TestStrangersAreCut(t *testing.T) {
	t.Parallel()
	long := request(false, "get_id", strings.Repeat("a", 5000))
	for name, text := range map[string]string{
		"HTTP":                "GET / HTTP/1.1\r\n\r\n",
		"TLS":                 "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"huge frame":          "\x7f\xff\xff\xff\x80\x01\x00\x01",
		"empty frame":         "\x00\x00\x00\x00\x80",
		"huge name":           "\x80\x01\x00\x01\x7f\xff\xff\xff",
		"negative name":       "\x80\x01\x00\x01\xff\xff\xff\xff",
		"another version":     "\x80\x02\x00\x01\x00\x00\x00\x00",
		"a reply":             "\x80\x01\x00\x02\x00\x00\x00\x06get_id\x00\x00\x00\x01\x00",
		"a longer request":    string(long),
		"a message too long":  "\x00\x00\x00\x08\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x01\x00",
		"deep structures":     "\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x01" + strings.Repeat("\x0c\x00\x02", 1000),
		"a list without end":  "\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x01\x0f\x00\x02\x0b\x7f\xff\xff\xff",
		"fields without end":  "\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x01" + strings.Repeat("\x02\x00\x02\x01", 2000),
		"a second frame huge": string(request(true, "get_timestamp", "")) + "\x7f\xff\xff\xff\x80",
	} {
		_, address := open(t, &fake{})
		nc := dial(t, address)
		if _, err := nc.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(nc)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: the connection is still open", name)
		}
		if len(got) > 0 && name != "a second frame huge" {
			t.Errorf("%s: answered %q", name, got)
		}
	}
}

// TestCloseFinishesRequests closes a server while one request is in progress and another connection is idle.
func TestCloseFinishesRequests(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s, address := open(t, f)
	idle := client(t, address, true, true)
	if _, err := idle("get_timestamp", ""); err != nil {
		t.Fatal(err)
	}
	f.hold, f.asked = make(chan struct{}), make(chan struct{})
	busy := client(t, address, true, true)
	outcome := make(chan error, 1)
	go func() {
		_, err := busy("get_id", "a")
		outcome <- err
	}()
	<-f.asked
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	if _, err := idle("get_timestamp", ""); err == nil {
		// An early call may succeed before Close begins. A later call fails.
		for err == nil {
			_, err = idle("get_timestamp", "")
		}
	}
	close(f.hold)
	if err := <-outcome; err != nil {
		t.Errorf("the request in progress failed: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close() = %v", err)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the server still accepts connections")
	}
}

// TestCloseCutsSlowRequests checks that Close cuts off a request when ctx ends, and does not wait for its deadline.
func TestCloseCutsSlowRequests(t *testing.T) {
	t.Parallel()
	f := &fake{hold: make(chan struct{}), asked: make(chan struct{}), gaveUp: make(chan error, 1)}
	s, address := open(t, f)
	call := client(t, address, true, true)
	outcome := make(chan error, 1)
	go func() {
		_, err := call("get_id", "a")
		outcome <- err
	}()
	<-f.asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	closed := make(chan error, 1)
	go func() { closed <- s.Close(ctx) }()
	if err := <-outcome; err == nil {
		t.Error("the request succeeded, want a closed connection")
	}
	if err := <-closed; !errors.Is(err, context.Canceled) {
		t.Errorf("Close() = %v, want that of its context", err)
	}
	if err := <-f.gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the context of the request ended with %v, want a cancellation", err)
	}
}

// TestPlaceIsKeptByServedCallers checks that a silent connection makes way, and a connection with a reply does not.
func TestPlaceIsKeptByServedCallers(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { testPlaceIsKept(t, false) })
	t.Run("TLS", func(t *testing.T) { testPlaceIsKept(t, true) })
}

func testPlaceIsKept(t *testing.T, overTLS bool) {
	t.Helper()
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := thrift.New(&fake{}, slog.New(slog.DiscardHandler))
	l := conn.Listen(inner, slots.New(2, 2), func(net.Conn) {})
	connect := client
	if overTLS {
		keys, config := secured(t)
		l, connect = tls.NewListener(keys.Listener(l), config), tlsClient(keys)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	served := connect(t, inner.Addr().String(), true, true)
	if _, err := served("get_id", "a"); err != nil {
		t.Fatal(err)
	}
	silent := dial(t, inner.Addr().String())
	later := connect(t, inner.Addr().String(), true, true)
	if _, err := later("get_id", "a"); err != nil {
		t.Errorf("get_id() of a third connection: %v", err)
	}
	if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the silent connection: %v, want it closed", err)
	}
	if _, err := served("get_id", "a"); err != nil {
		t.Errorf("get_id() of the connection that was served: %v", err)
	}
}

// TestPlainClientOfTLSPort checks that the log names the reason why the server closes the connection of a client without TLS.
func TestPlainClientOfTLSPort(t *testing.T) {
	t.Parallel()
	for _, framed := range []bool{true, false} {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		keys, config := secured(t)
		var logged bytes.Buffer
		s := thrift.New(&fake{}, slog.New(slog.NewTextHandler(&logged, nil)))
		go func() { _ = s.Serve(tls.NewListener(keys.Listener(inner), config)) }()
		nc := dial(t, inner.Addr().String())
		if _, err := nc.Write(request(framed, "get_id", "a")); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, nc) // until the server closes the connection
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(logged.String(), "does not speak TLS") {
			t.Errorf("framed %t: the log is %q, want the reason", framed, logged.String())
		}
	}
}

// TestStalledRequestsAreCut checks that a client that stalls within a request is cut, and one that is silent between requests is not.
func TestStalledRequestsAreCut(t *testing.T) {
	t.Parallel()
	whole := request(false, "get_timestamp", "")
	for name, sent := range map[string][]byte{
		"first request": nil,
		"head":          whole[:3],
		"message":       whole[:len(whole)-1],
		"frame":         request(true, "get_timestamp", "")[:10],
	} {
		synctest.Test(t, func(t *testing.T) {
			s := thrift.New(&fake{}, slog.New(slog.DiscardHandler))
			l := &once{conn: make(chan net.Conn, 1), end: make(chan struct{})}
			nc, served := net.Pipe()
			l.conn <- served
			go func() { _ = s.Serve(l) }()
			began := time.Now()
			if sent != nil {
				answered := exchange(t, nc, whole)
				<-time.After(time.Hour)
				if again := exchange(t, nc, whole); len(again) != len(answered) {
					t.Errorf("%s: %d bytes after an hour of silence, want %d", name, len(again), len(answered))
				}
				began = time.Now()
				_, _ = nc.Write(sent)
			}
			if n, err := nc.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s: answered %d bytes", name, n)
			}
			if took := time.Since(began); took != 30*time.Second {
				t.Errorf("%s: cut after %v, want 30s", name, took)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseEndsIncompleteRequests closes a server that waits for the next field.
func TestCloseEndsIncompleteRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := thrift.New(&fake{}, slog.New(slog.DiscardHandler))
		l := &once{conn: make(chan net.Conn, 1), end: make(chan struct{})}
		nc, served := net.Pipe()
		l.conn <- served
		go func() { _ = s.Serve(l) }()
		if _, err := nc.Write(request(false, "get_id", "a")[:19]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		if err := s.Close(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("Close() = %v after %v, want none at once", err, time.Since(began))
		}
	})
}

// exchange sends bytes and returns the reply of get_timestamp.
func exchange(t *testing.T, nc net.Conn, sent []byte) []byte {
	t.Helper()
	if _, err := nc.Write(sent); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 4+4+len("get_timestamp")+4+3+8+1)
	if _, err := io.ReadFull(nc, reply); err != nil {
		t.Fatal(err)
	}
	return reply
}
