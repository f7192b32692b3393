package frontend

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// onePipe is a listener with one connection, a pipe.
type onePipe struct{ net.Conn }

func (l onePipe) Accept() (net.Conn, error) { return l.Conn, nil }
func (onePipe) Addr() net.Addr              { return nil }

// timedPipe returns both ends of a connection. Only the first has timeouts.
func timedPipe(t *testing.T) (timed *timedConn, other net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	c, err := (&timedListener{Listener: onePipe{near}}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	timed, ok := c.(*timedConn)
	if !ok {
		t.Fatalf("Accept() = %T", c)
	}
	t.Cleanup(func() { _, _ = timed.Close(), far.Close() })
	return timed, far
}

func TestTimeoutsEndReadsAndWrites(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		set func(*timedConn, time.Time) error
		do  func(net.Conn, []byte) (int, error)
	}{
		"read":  {(*timedConn).SetReadDeadline, net.Conn.Read},
		"write": {(*timedConn).SetWriteDeadline, net.Conn.Write},
		"both":  {(*timedConn).SetDeadline, net.Conn.Read},
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
				if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took < limit || took > limit+timeoutPeriod {
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
func TestTimeoutsInterruptAtOnce(t *testing.T) {
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

// The goroutine of the timeouts ends with the last connection. Otherwise synctest would report it.
func TestTimeoutsEndWithConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &timedListener{}
		for range 3 {
			var conns []net.Conn
			for range 4 {
				near, far := net.Pipe()
				defer far.Close()
				l.Listener = onePipe{near}
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, c)
			}
			time.Sleep(3 * time.Second)
			for _, c := range conns {
				_, _ = c.Close(), c.Close()
			}
		}
		if n := len(l.timeouts.conns); n > 0 {
			t.Errorf("%d connections are kept", n)
		}
	})
}
