package attacks

import (
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"time"
)

// mostHeld is the maximum number of connections of a flood.
const mostHeld = 600

// open connects to a port for clients, over TLS if the members are secured. The connection is not nil if only the TLS
// handshake failed.
func (v visit) open(ctx context.Context, address string, protocols ...string) (net.Conn, error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil || !v.Secured {
		return conn, err
	}
	over := tls.Client(conn, unjudged(protocols...))
	return over, over.HandshakeContext(ctx)
}

// unjudged returns the TLS configuration of a client that verifies no certificate.
func unjudged(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols} //nolint:gosec // strangers trust any server
}

// send sends bytes on a new connection, and discards the answers until ctx ends.
func (v visit) send(ctx context.Context, address string, said []byte, protocols ...string) {
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

// garbage sends noise that may begin like a message, over TLS or not.
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

// beginning returns the beginning of a random message; it may be empty.
func (v visit) beginning() string {
	all := []string{
		"", "\x16\x03\x01", preface, "SNOWRAFT\x01", string(labeled(nil)), string(labeled([]byte{6})), "*3\r\n$3\r\nSET\r\n", "INCR ",
		"POST /v1/ids:generate HTTP/1.1\r\n", "GET /id HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
	}
	return all[v.IntN(len(all))]
}

// some returns a random number from 1 to most. Its logarithm is uniformly distributed.
func (v visit) some(most int) int { return int(math.Pow(float64(most), v.Float64())) }

// flood opens connections to one port from all sources. A quarter of them sends the beginning of a message, the others nothing.
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

// halfHandshakes begins TLS handshakes on many connections. It sends a part of the first message, or reads no answer.
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

// clientHello returns the first message of a TLS handshake.
func clientHello() []byte {
	here, there := net.Pipe()
	defer there.Close() //nolint:errcheck // a pipe
	go func() {
		_ = tls.Client(here, unjudged("h2")).Handshake()
	}()
	hello := make([]byte, 4<<10)
	n, _ := there.Read(hello) // whole message: one write
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
