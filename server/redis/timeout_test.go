package redis_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/server/redis"
)

// pipes is a listener of pipes, for synthetic time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// ended returns the time until the other side closes the connection.
func ended(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		in       string
		from, to time.Duration // bounds for the time of closing; 0: never
	}{
		{name: "nothing, as Redis", in: ""},
		{name: "nothing after a command", in: "PING\r\n"},
		{"a part of a command", "*1\r\n$4\r\nPI", 30 * time.Second, 32 * time.Second},
		{"a part of a typed command", "PING", 30 * time.Second, 32 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newPipes()
				startOn(t, redis.Config{Backend: &fake{}}, l)
				c := l.dial()
				defer c.Close()
				if _, err := io.WriteString(c, tc.in); err != nil {
					t.Fatal(err)
				}
				if tc.to == 0 {
					if err := c.SetReadDeadline(time.Now().Add(24 * time.Hour)); err != nil {
						t.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, c); err == nil {
						t.Error("the connection was closed")
					}
					return
				}
				if took := ended(t, c); took < tc.from || took > tc.to {
					t.Errorf("the connection was closed after %v, want %v to %v", took, tc.from, tc.to)
				}
			})
		})
	}
}

// Occasional bytes do not extend the time for an incomplete command.
func TestSlowCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		startOn(t, redis.Config{Backend: &fake{}}, l)
		c := l.dial()
		defer c.Close()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		if _, err := io.WriteString(c, "PING\r\nECHO 1\r\n*1\r\n$1000\r\n"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for {
			<-time.After(7 * time.Second)
			if _, err := io.WriteString(c, "x"); err != nil {
				break
			}
		}
		if took := time.Since(began); took > 37*time.Second {
			t.Errorf("the connection was closed after %v", took)
		}
	})
}

// Complete commands may come slowly, even together with a part of the next command.
func TestSlowPipeline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		startOn(t, redis.Config{Backend: &fake{}}, l)
		c := l.dial()
		defer c.Close()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		for range 10 {
			if _, err := io.WriteString(c, "PING\r\nPI"); err != nil {
				t.Fatal(err)
			}
			<-time.After(20 * time.Second)
			if _, err := io.WriteString(c, "NG\r\n"); err != nil {
				t.Fatal(err)
			}
			<-time.After(20 * time.Second)
		}
	})
}

// A client that reads no answers does not keep its memory forever.
func TestStalledReaderIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		s := startOn(t, redis.Config{Backend: &fake{}}, l)
		c := l.dial()
		defer c.Close()
		began := time.Now()
		for {
			if _, err := io.WriteString(c, "SNOWRAFT.ID COUNT 100000\r\n"); err != nil {
				break // closed by the server
			}
			if n := s.Unread(); n > 20<<20 {
				t.Fatalf("%d bytes of answers wait for the client", n)
			}
		}
		if took := time.Since(began); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("the connection was closed after %v", took)
		}
		synctest.Wait()
		if n := s.Unread(); n != 0 {
			t.Errorf("%d bytes of answers are still counted", n)
		}
	})
}

// A call of the backend has a deadline, even on a server that has run for long.
func TestCallsHaveADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		f := &fake{before: func(ctx context.Context, _, _ string) error {
			began := time.Now()
			<-ctx.Done()
			took = time.Since(began)
			return ctx.Err()
		}}
		l := newPipes()
		startOn(t, redis.Config{Backend: f}, l)
		c := l.dial()
		defer c.Close()
		for range 20 {
			if _, err := io.WriteString(c, "GET orders\r\n"); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 128)
			n, err := c.Read(answer)
			if got := string(answer[:n]); got != "-LOADING context deadline exceeded; trying again may skip numbers and never repeats one\r\n" || err != nil {
				t.Fatalf("got %q, %v", got, err)
			}
			if took < 5*time.Second || took > 6*time.Second {
				t.Errorf("the call ended after %v", took)
			}
			<-time.After(700 * time.Millisecond)
		}
	})
}

// A connection sends its last answers before it closes.
func TestLastAnswersAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		startOn(t, redis.Config{Backend: &fake{}}, l)
		c := l.dial()
		defer c.Close()
		if _, err := io.WriteString(c, "SNOWRAFT.ID COUNT 100000\r\nQUIT\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got, err := io.ReadAll(c)
		if err != nil || len(got) < 100_000 || string(got[len(got)-5:]) != "+OK\r\n" {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}
