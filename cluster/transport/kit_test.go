package transport

import (
	"net"
	"testing"

	"github.com/snowraft/snowraft/internal/test/clusterkit"
	"github.com/snowraft/snowraft/trust"
)

// acceptor runs a listener that passes its connections to a function.
func acceptor(t *testing.T, handle func(*net.TCPConn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(conn.(*net.TCPConn))
		}
	}()
	return listener.Addr().String()
}

// withAndWithoutSecret runs a test with members of an open and of a secured cluster.
func withAndWithoutSecret(t *testing.T, test func(t *testing.T, keys *trust.Keys)) {
	t.Parallel()
	for name, keys := range map[string]*trust.Keys{"open": nil, "secured": clusterkit.Keys(t, 0)} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, keys) })
	}
}
