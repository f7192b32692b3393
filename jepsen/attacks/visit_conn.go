package attacks

import (
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"time"
)

// mostHeld is the most connections of a flood.
const mostHeld = 600

// open connects to a port for clients, over TLS where the members speak it.
func (v visit) open(ctx context.Context, address string, protocols ...string) (net.Conn, error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil || !v.Secured {
		return conn, err
	}
	over := tls.Client(conn, unjudged(protocols...))
	return over, over.HandshakeContext(ctx)
}

// unjudged is the configuration of a client that looks at no certificate.
func unjudged(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols} //nolint:gosec // a stranger's
}

// tell sends bytes on a new connection, and reads what comes until ctx ends.
func (v visit) tell(ctx context.Context, address string, said []byte, protocols ...string) {
	conn, err := v.open(ctx, address, protocols...)
	if conn == nil {
		return
	}
	defer conn.Close() //nolint:errcheck // nothing counts
	if err != nil {
		return
	}
	go func() { _, _ = conn.Write(said) }()
	_, _ = io.Copy(io.Discard, conn)
}

// garbage sends noise that begins like a message, over TLS or not.
func (v visit) garbage(ctx context.Context) {
	address := v.port()
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // nothing counts
	if v.Secured && v.IntN(2) == 0 {
		conn = tls.Client(conn, unjudged())
	}
	if _, err := conn.Write(append([]byte(v.beginning()), v.noise(16<<10)...)); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.CopyN(io.Discard, conn, 64<<10)
}

// beginning is how some message begins.
func (v visit) beginning() string {
	all := []string{
		"", "\x16\x03\x01", preface, "SNOWRAFT\x01", string(labeled(nil)), string(labeled([]byte{6})), "*3\r\n$3\r\nSET\r\n", "INCR ",
		"POST /v1/ids:generate HTTP/1.1\r\n", "GET /id HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
	}
	return all[v.IntN(len(all))]
}

// some is from 1 to most, few as likely as many.
func (v visit) some(most int) int { return int(math.Pow(float64(most), v.Float64())) }

// flood opens connections to one port from all sources, which say nothing, or begin to.
func (v visit) flood(ctx context.Context) {
	address := v.port()
	for range v.some(mostHeld) {
		conn, err := dial(v.from(ctx), "tcp", address)
		if err != nil {
			break
		}
		if v.IntN(4) == 0 {
			_, _ = conn.Write([]byte(v.beginning()))
		}
	}
	<-ctx.Done()
}

// halfHandshakes begins TLS on many connections, sends less of it than the member waits for, or reads no answer.
func (v visit) halfHandshakes(ctx context.Context) {
	address, hello := v.port(), clientHello()
	for range v.some(mostHeld / 4) {
		conn, err := dial(v.from(ctx), "tcp", address)
		if err != nil {
			break
		}
		_, _ = conn.Write(hello[:1+v.IntN(len(hello))])
		if v.IntN(4) == 0 {
			_, _ = conn.Write(hello)
		}
	}
	<-ctx.Done()
}

// clientHello is the first message of a TLS handshake.
func clientHello() []byte {
	here, there := net.Pipe()
	defer there.Close() //nolint:errcheck // a pipe
	go func() {
		_ = tls.Client(here, unjudged("h2")).Handshake()
	}()
	hello := make([]byte, 4<<10)
	n, _ := there.Read(hello) // the whole message, because it is one write
	return hello[:n]
}

// drip sends a message byte by byte.
func (v visit) drip(ctx context.Context) {
	conn, err := dial(ctx, "tcp", v.port())
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // nothing counts
	said := []byte(v.beginning())
	if v.Secured && v.IntN(2) == 0 {
		said = clientHello()
	}
	tick := time.NewTicker(time.Duration(20+v.IntN(200)) * time.Millisecond)
	defer tick.Stop()
	for i := range said {
		if _, err := conn.Write(said[i : i+1]); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
