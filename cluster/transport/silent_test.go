package transport

import (
	"net"
	"testing"

	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

func TestHandshakeSilentConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	s := agreeable(t)
	for range 2 * maxHandshakes {
		conn, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := from.DialContext(t.Context(), "tcp", s.listener.Addr().String())
	if err != nil {
		t.Skip(err) // no such address on this system
	}
	defer conn.Close()
	if _, err := sendGreeting(conn, Greeting{From: clusterkit.NewMeta(), To: s.Self().ID}); err != nil {
		t.Errorf("no handshake with another address: %v", err)
	}
}
