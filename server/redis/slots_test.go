package redis_test

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/trust"
)

// A token has a quarter of the places, regardless of how it is used. Other clients still find places.
func TestClientsOfOneToken(t *testing.T) {
	t.Parallel()
	ts := newTokens("seq:next:orders/*", "seq:read:orders/*")
	greedy, other := ts.texts["seq:next:orders/*"], ts.texts["seq:read:orders/*"]
	_, addr := startLimited(t, redis.Config{Backend: judging{&fake{}}, Authenticate: trust.NewAuthorizer(ts).Authenticate}, slots.New(8, 8))
	login := func(command, want string) *client {
		t.Helper()
		c := dial(t, addr)
		c.send(command + "\r\n")
		if got := c.reader().line(); got != want {
			t.Fatalf("%.10s: got %q, want %q", command, got, want) // a client with a place would wait without end below
		}
		return c
	}
	const tooMany = "-ERR max number of clients with this token reached"
	login("AUTH "+greedy, "+OK")
	second := login("AUTH "+greedy, "+OK")
	third := login("AUTH "+greedy, tooMany)
	if rest, err := io.ReadAll(third); err != nil || len(rest) > 0 {
		t.Errorf("got %q, %v, want the end of the connection", rest, err)
	}
	login("HELLO 2 AUTH default "+greedy, tooMany)
	login("AUTH "+other, "+OK")
	// A connection that takes another token still counts as its first token's.
	second.send("RESET\r\nAUTH " + other + "\r\n")
	if got := second.reader().line(); got != "+RESET" {
		t.Errorf("got %q", got)
	}
	login("AUTH "+greedy, tooMany)
	login("AUTH "+other, "+OK")
	login("AUTH "+other, tooMany)
	_ = second.Close()
	for ok := false; !ok; { // the server may take a moment to notice
		c := dial(t, addr)
		c.send("AUTH " + greedy + "\r\n")
		ok = c.reader().line() == "+OK"
		_ = c.Close()
	}
}

// If all places are taken, the client with the oldest last command makes way, if that command is at least a minute old.
func TestIdleClientsMakeWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		startOn(t, redis.Config{Backend: &fake{}}, limited(l, slots.New(3, 3)))
		ping := func(c net.Conn) (ok bool) {
			if _, err := io.WriteString(c, "PING\r\n"); err != nil {
				return false
			}
			_, err := io.ReadFull(c, make([]byte, len("+PONG\r\n")))
			return err == nil
		}
		var clients []net.Conn
		for range 3 {
			c := l.dial()
			defer c.Close()
			if !ping(c) {
				t.Fatal("no answer")
			}
			clients = append(clients, c)
			time.Sleep(2 * time.Second)
		}
		time.Sleep(slots.IdleLimit)
		if !ping(clients[0]) {
			t.Fatal("an idle client was closed without need")
		}
		next := l.dial()
		defer next.Close()
		if !ping(next) {
			t.Error("no idle client makes way")
		}
		for i, stays := range []bool{true, false, true} {
			if ping(clients[i]) != stays {
				t.Errorf("client %d stays: %v, want %v", i, !stays, stays)
			}
		}
		last := l.dial()
		defer last.Close()
		if err := last.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(last); err != nil || string(got) != "-ERR max number of clients reached\r\n" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
