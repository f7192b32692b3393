package redis_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/snowraft/snowraft/server/redis"
)

// A client that closes its sending half gets the answers to all that it sent, and then the end of the connection. This also holds
// if the end arrives together with the last command, when the poller reports both as one, after any number of earlier reads.
func TestClientClosesSendingHalf(t *testing.T) {
	t.Parallel()
	for _, earlier := range []int{0, 100} {
		entered, leave := make(chan struct{}), make(chan struct{})
		_, addr := start(t, redis.Config{Backend: &fake{before: func(_ context.Context, call, _ string) error {
			if call == "last" {
				close(entered)
				<-leave
			}
			return nil
		}}})
		c := dial(t, addr)
		r := c.reader()
		for range earlier {
			c.send("PING\r\n")
			if got := r.line(); got != "+PONG" {
				t.Fatalf("got %q", got)
			}
		}
		c.send("GET orders\r\n")
		<-entered
		c.send("PING\r\n") // is read after the end has arrived
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		close(leave)
		_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // bounds a hang
		if got, err := io.ReadAll(c); err != nil || string(got) != "$-1\r\n+PONG\r\n" {
			t.Errorf("after %d commands: got %q, %v", earlier, got, err)
		}
	}
}
