package frontend

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// piped returns an API connection, its client, and the number of bytes read from the client, which sends endlessly.
func piped(t *testing.T) (c *apiConn, client net.Conn, read *atomic.Int64) {
	t.Helper()
	theirs, ours := net.Pipe()
	l := &apiListener{&pipeListener{conns: make(chan net.Conn, 1)}, newBudget(maxAnswers, maxAnswersOfOne), &watches{}, &silence{}}
	l.Listener.(*pipeListener).conns <- theirs
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, read = nc.(*apiConn), new(atomic.Int64)
	go func() { _, _ = io.Copy(ours, zeros{}) }()
	return c, ours, read
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// take reads up to limit bytes from the connection.
func take(c *apiConn, read *atomic.Int64, limit int64) {
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
		take(c, read, 2*maxReadAhead) // while nothing waits for the client
		go func() { _, _ = c.Write([]byte("answer")) }()
		synctest.Wait()
		before := read.Load()
		go take(c, read, before+4*maxReadAhead)
		synctest.Wait()
		if ahead := read.Load() - before; ahead < maxReadAhead/2 || ahead > maxReadAhead+8<<10 {
			t.Errorf("%d bytes were read of a client that reads nothing", ahead)
		}
		if _, err := io.ReadFull(client, make([]byte, len("answer"))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if ahead := read.Load() - before; ahead < 4*maxReadAhead {
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
			take(c, read, 2*maxReadAhead)
		}()
		synctest.Wait()
		_ = c.Close()
		<-ended
	})
}
