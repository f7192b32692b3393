package conn_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/conn"
)

// onePipe is a listener with one connection, a pipe.
type onePipe struct{ net.Conn }

func (l onePipe) Accept() (net.Conn, error) { return l.Conn, nil }
func (onePipe) Addr() net.Addr              { return nil }

// timedPipe returns both ends of a connection. Only the first has timeouts.
func timedPipe(t *testing.T) (timed *conn.Conn, other net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	c, err := conn.Listen(onePipe{near}, slots.New(1, 1), nil).Accept()
	if err != nil {
		t.Fatal(err)
	}
	timed = c.(*conn.Conn)
	timed.Requested()
	t.Cleanup(func() { _, _ = timed.Close(), far.Close() })
	return timed, far
}

func TestDeadlinesEndReadsAndWrites(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		set func(*conn.Conn, time.Time) error
		do  func(net.Conn, []byte) (int, error)
	}{
		"read":  {(*conn.Conn).SetReadDeadline, net.Conn.Read},
		"write": {(*conn.Conn).SetWriteDeadline, net.Conn.Write},
		"both":  {(*conn.Conn).SetDeadline, net.Conn.Read},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, other := timedPipe(t)
			for range 2 { // the second deadline follows one that passed
				began, limit := time.Now(), 5*time.Second
				if err := errors.Join(of.set(c, began.Add(time.Minute)), of.set(c, began.Add(limit))); err != nil {
					t.Fatal(err)
				}
				late := time.AfterFunc(time.Hour, func() { _ = other.Close() })
				_, err := of.do(c, make([]byte, 1))
				late.Stop()
				if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took != limit {
					t.Errorf("%s ended after %v with %v, want a timeout after %v", name, took, err, limit)
				}
			}
			if err := of.set(c, time.Time{}); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := of.do(c, make([]byte, 1))
				done <- err
			}()
			time.Sleep(time.Hour)
			go func() { _, _ = other.Read(make([]byte, 1)) }()
			go func() { _, _ = other.Write(make([]byte, 1)) }()
			if err := <-done; err != nil {
				t.Errorf("%s without a deadline = %v", name, err)
			}
		})
	}
}

// net/http interrupts a read with a deadline in the distant past, and then continues to read.
func TestDeadlinesInterruptAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, other := timedPipe(t)
		began := time.Now()
		go func() { _ = c.SetReadDeadline(time.Unix(1, 0)) }()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > 0 {
			t.Errorf("interrupted after %v with %v", time.Since(began), err)
		}
		go func() { _, _ = io.WriteString(other, "x") }()
		if err := c.SetReadDeadline(began.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
	})
}

// A deadline that a later one replaces does not end a read or a write, and a write continues where it was.
func TestReplacedDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, other := timedPipe(t)
		began := time.Now()
		if err := errors.Join(c.SetDeadline(began.Add(time.Second)), c.SetDeadline(began.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.ReadFull(other, make([]byte, 3))
			time.Sleep(time.Minute)
			rest := make([]byte, 3)
			_, _ = io.ReadFull(other, rest)
			_, _ = other.Write(rest)
		}()
		if n, err := c.Write([]byte("abcdef")); n != 6 || err != nil {
			t.Errorf("Write() = %d, %v", n, err)
		}
		rest := make([]byte, 3)
		if _, err := io.ReadFull(c, rest); err != nil || string(rest) != "def" {
			t.Errorf("read %q, %v", rest, err)
		}
		if _, err := c.Read(rest); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Hour {
			t.Errorf("Read() after %v: %v", time.Since(began), err)
		}
	})
}
