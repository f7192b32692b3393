package trust

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"
)

const patience = 2 * time.Minute

// keysOf returns the keys of secrets. The first secret signs.
func keysOf(t testing.TB, secrets ...Secret) *Keys {
	t.Helper()
	k, err := NewKeys(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// answer holds the server's view of a connection.
type answer struct {
	state tls.ConnectionState
	err   error
}

// server answers each line on its port with the same line, once its TLS accepts the client.
type server struct {
	addr    string
	answers chan answer
}

// serve starts a server. The listener may be nil.
func serve(t testing.TB, config *tls.Config, l net.Listener) *server {
	t.Helper()
	if l == nil {
		l = listen(t)
	}
	s := &server{addr: l.Addr().String(), answers: make(chan answer, 100)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.handle(tls.Server(conn, config))
		}
	}()
	return s
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (s *server) handle(conn *tls.Conn) {
	defer func() { _ = conn.Close() }()
	err := conn.HandshakeContext(context.Background())
	select {
	case s.answers <- answer{conn.ConnectionState(), err}:
	default:
	}
	if err != nil {
		return
	}
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if _, err := conn.Write([]byte(line)); err != nil {
			return
		}
	}
}

// talk dials the server and sends one line.
func (s *server) talk(config *tls.Config) (tls.ConnectionState, error) {
	conn, err := (&tls.Dialer{Config: config, NetDialer: &net.Dialer{Timeout: patience}}).Dial("tcp", s.addr)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState(), echo(conn)
}

// echo sends a line over conn and waits for it.
func echo(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("hello\n")); err != nil {
		return err
	}
	_, err := bufio.NewReader(conn).ReadString('\n')
	return err
}

// ended waits until one side has closed conn.
func ended(t testing.TB, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, err := conn.Read(make([]byte, 1))
	if timeout, is := err.(net.Error); err == nil || is && timeout.Timeout() { //nolint:errorlint // not wrapped
		t.Fatalf("the connection is open: Read() = %v", err)
	}
}
