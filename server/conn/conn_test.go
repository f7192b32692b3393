package conn_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/conn"
)

// piped returns an connection, its client, and the number of bytes read from the client, which sends endlessly.
func piped(t *testing.T) (c *conn.Conn, client net.Conn, read *atomic.Int64) {
	t.Helper()
	theirs, ours := net.Pipe()
	nc, err := conn.Listen(onePipe{theirs}, slots.New(1, 1), nil).Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, read = nc.(*conn.Conn), new(atomic.Int64)
	c.Requested()
	c.LimitReadAhead()
	go func() { _, _ = io.Copy(ours, zeros{}) }()
	return c, ours, read
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// take reads up to limit bytes from the connection.
func take(c *conn.Conn, read *atomic.Int64, limit int64) {
	b := make([]byte, 4<<10)
	for read.Load() < limit {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		read.Add(int64(n))
	}
}

func TestReadAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, client, read := piped(t)
		take(c, read, 2*conn.MaxReadAhead) // while nothing waits for the client
		go func() { _, _ = c.Write([]byte("answer")) }()
		synctest.Wait()
		before := read.Load()
		go take(c, read, before+4*conn.MaxReadAhead)
		synctest.Wait()
		if ahead := read.Load() - before; ahead < conn.MaxReadAhead/2 || ahead > conn.MaxReadAhead+8<<10 {
			t.Errorf("%d bytes were read of a client that reads nothing", ahead)
		}
		if _, err := io.ReadFull(client, make([]byte, len("answer"))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if ahead := read.Load() - before; ahead < 4*conn.MaxReadAhead {
			t.Errorf("%d bytes were read once the client reads", ahead)
		}
		_ = c.Close()
	})
}

func TestCloseEndsPausedRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, read := piped(t)
		go func() { _, _ = c.Write([]byte("answer")) }()
		synctest.Wait()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			take(c, read, 2*conn.MaxReadAhead)
		}()
		synctest.Wait()
		_ = c.Close()
		<-ended
	})
}

// Before its first request, a client can send no more than a handshake takes. Its bytes count until the request.
func TestHandshakeIsShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, requested := range []bool{false, true} {
			budget := slots.NewBudget(1, 1, 1<<30, 1)
			theirs, ours := net.Pipe()
			nc, err := conn.Listen(onePipe{theirs}, budget, nil).Accept()
			if err != nil {
				t.Fatal(err)
			}
			c := nc.(*conn.Conn)
			go func() { _, _ = io.Copy(ours, zeros{}) }()
			b := make([]byte, 20<<10)
			if _, err := io.ReadFull(c, b); err != nil || budget.Held() < int64(len(b)) {
				t.Errorf("the beginning of a handshake: %v, %d bytes count", err, budget.Held())
			}
			if requested {
				c.Requested()
			}
			if _, err := io.ReadFull(c, b); (err == nil) != requested {
				t.Errorf("requested %v: 40 KiB were read, %v", requested, err)
			}
			_ = c.Close()
			if held := budget.Held(); held != 0 {
				t.Errorf("%d bytes are held after the connection", held)
			}
		}
	})
}
