package redis_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/redis"
)

// start serves a backend on loopback until the test ends.
func start(tb testing.TB, cfg redis.Config) (*redis.Server, string) {
	tb.Helper()
	l := listen(tb, "127.0.0.1:0")
	return startOn(tb, cfg, l), l.Addr().String()
}

// startLimited is start with slots for clients.
func startLimited(tb testing.TB, cfg redis.Config, p *slots.Budget) (*redis.Server, string) {
	tb.Helper()
	l := listen(tb, "127.0.0.1:0")
	return startOn(tb, cfg, limited(l, p)), l.Addr().String()
}

// limited is a listener with slots for clients.
func limited(l net.Listener, p *slots.Budget) net.Listener {
	return conn.Listen(l, p, redis.RefuseClient)
}

func listen(tb testing.TB, addr string) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func startOn(tb testing.TB, cfg redis.Config, l net.Listener) *redis.Server {
	tb.Helper()
	s := newServer(cfg)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	tb.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			tb.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	return s
}

func TestMaxClients(t *testing.T) {
	t.Parallel()
	_, addr := startLimited(t, redis.Config{Backend: &fake{}}, slots.New(4, 2))
	a, b := dial(t, addr), dial(t, addr)
	for _, c := range []*client{a, b} {
		c.send("PING\r\n")
		if got := c.reader().line(); got != "+PONG" {
			t.Fatalf("got %q", got)
		}
	}
	third := dial(t, addr)
	if got, _ := io.ReadAll(third); string(got) != "-ERR max number of clients reached\r\n" {
		t.Errorf("got %q", got)
	}
	_ = a.Close()
	// The server may take a moment to notice.
	for ok := false; !ok; {
		c := dial(t, addr)
		c.send("PING\r\n")
		ok = c.reader().line() == "+PONG"
		_ = c.Close()
	}
}

// Connections that send nothing make way.
func TestSilentClientsMakeWay(t *testing.T) {
	t.Parallel()
	_, addr := startLimited(t, redis.Config{Backend: &fake{}}, slots.New(3, 3))
	used := dial(t, addr)
	used.send("PING\r\n")
	if got := used.reader().line(); got != "+PONG" {
		t.Fatalf("got %q", got)
	}
	silent := []*client{dial(t, addr), dial(t, addr), dial(t, addr), dial(t, addr)}
	for _, c := range silent[:2] { // the two oldest
		if got, _ := io.ReadAll(c); len(got) > 0 {
			t.Errorf("got %q", got)
		}
	}
	for _, c := range []*client{used, silent[2], silent[3]} {
		c.send("PING\r\n")
		if got := c.reader().line(); got != "+PONG" {
			t.Errorf("got %q", got)
		}
	}
}

// Close lets received commands be answered, and accepts no more.
func TestCloseAnswersReceivedCommands(t *testing.T) {
	t.Parallel()
	began, end := make(chan struct{}), make(chan struct{})
	f := &fake{before: func(_ context.Context, call, _ string) error {
		if call == "next" {
			close(began)
			<-end
		}
		return nil
	}}
	f.add("orders", 1, 1, -1, true)
	l := listen(t, "127.0.0.1:0")
	s := newServer(redis.Config{Backend: f})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	idle, busy := dial(t, l.Addr().String()), dial(t, l.Addr().String())
	idle.send("PING\r\n")
	if got := idle.reader().line(); got != "+PONG" {
		t.Fatalf("got %q", got)
	}
	busy.send("INCR orders\r\n")
	<-began
	closed := make(chan error, 1)
	go func() { closed <- s.Close(t.Context()) }()
	if got, err := io.ReadAll(idle); len(got) > 0 || err != nil {
		t.Errorf("the idle connection got %q, %v", got, err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	select {
	case err := <-closed:
		t.Fatalf("Close returned before the answer: %v", err)
	default:
	}
	close(end)
	if got, err := io.ReadAll(busy); string(got) != ":1\r\n" || err != nil {
		t.Errorf("the busy connection got %q, %v", got, err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := s.Serve(listen(t, "127.0.0.1:0")); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
}

// Close cuts off commands that are not answered in time.
func TestCloseCutsShort(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	f := &fake{before: func(ctx context.Context, call, _ string) error {
		if call != "next" {
			return nil
		}
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}}
	f.add("orders", 1, 1, -1, true)
	l := listen(t, "127.0.0.1:0")
	s := newServer(redis.Config{Backend: f})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	c := dial(t, l.Addr().String())
	c.send("INCR orders\r\n")
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestPanicEndsOneConnection(t *testing.T) {
	t.Parallel()
	f := &fake{before: func(_ context.Context, call, name string) error {
		if name == "bad" {
			panic("planted")
		}
		return nil
	}}
	var log bytes.Buffer
	s, addr := start(t, redis.Config{Backend: f, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	other := dial(t, addr)
	if got := all(t, addr, "INCR bad\r\n"); got != "" {
		t.Errorf("got %q", got)
	}
	other.send("INCR good\r\n")
	if got := other.reader().line(); got != ":1" {
		t.Errorf("another connection got %q", got)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "panic=planted") {
		t.Errorf("the log says nothing of it: %s", &log)
	}
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	_, addr := start(t, redis.Config{Backend: &fake{}})
	for _, tc := range []struct{ name, in, want string }{
		{"line", "PING " + strings.Repeat("x", 70<<10), "-ERR Protocol error: too big inline request\r\n"},
		{"words", strings.Repeat("x ", 1025) + "\r\n", "-ERR Protocol error: too many arguments in request\r\n"},
		{"count", "*1025\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
		{"count that never ends", "*" + strings.Repeat("1", 70<<10), "-ERR Protocol error: too big mbulk count string\r\n"},
		{"length that never ends", "*1\r\n$" + strings.Repeat("1", 70<<10), "-ERR Protocol error: too big bulk count string\r\n"},
		{"bulk", "*2\r\n$4\r\nECHO\r\n$65536\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{
			"bulks", "*1000\r\n" + strings.Repeat("$100\r\n"+strings.Repeat("x", 100)+"\r\n", 1000),
			"-ERR Protocol error: invalid bulk length\r\n",
		},
		{
			"all of it", "*3\r\n$4\r\nECHO\r\n$65512\r\n" + strings.Repeat("x", 65512) + "\r\n$1\r\nx\r\n",
			"-ERR Protocol error: too big request\r\n",
		},
		{"longest", "*2\r\n$4\r\nECHO\r\n$65000\r\n" + strings.Repeat("x", 65000) + "\r\n", "$65000\r\n" + strings.Repeat("x", 65000) + "\r\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, addr)
			// The server may close the connection before it has read everything.
			_, _ = io.WriteString(c, tc.in)
			got := make([]byte, len(tc.want))
			if _, err := io.ReadFull(c, got); string(got) != tc.want {
				t.Errorf("got %.100q, %v, want %.100q", got, err, tc.want)
			}
			// A client that is still sending must get the answer instead of a connection error.
			for range 10 {
				if _, err := io.WriteString(c, strings.Repeat("x", 1000)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
