package freeport

import (
	"net"
	"testing"
)

// No two callers get a port, and no caller gets one that a program listens at.
func TestBaseHasFreePortsOnly(t *testing.T) {
	t.Parallel()
	taken, err := net.ListenPacket("udp", At(Base(t, 3)+1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	seen := map[int]bool{taken.LocalAddr().(*net.UDPAddr).Port: true} //nolint:forcetypeassert // a UDP address
	next.port -= 3
	for range 100 {
		base := Base(t, 5)
		for port := base; port < base+5; port++ {
			if seen[port] || port < first || port >= last {
				t.Fatalf("port %d of base %d", port, base)
			}
			seen[port] = true
		}
	}
}
