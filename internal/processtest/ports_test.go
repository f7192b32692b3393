//go:build process || browser || prometheus || redisclients

package processtest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// ports assigns ports below the ports that systems use for outgoing connections,
// so that no other process gets a member's ports while it is down. It begins at a random port
// because of other test runs on this machine.
var ports struct {
	sync.Mutex
	next int
}

const firstPort, lastPort = 12000, 31000

// freeAddress returns an address of 127.0.0.1 with a free port that no
// other test gets.
func freeAddress(t *testing.T) string {
	t.Helper()
	return freeAddresses(t, 1)
}

// freeAddresses is freeAddress for n successive ports. It returns the first address.
func freeAddresses(t *testing.T, n int) (first string) {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.next == 0 {
		ports.next = firstPort + rand.N(lastPort-firstPort)
	}
	for range lastPort - firstPort {
		base := ports.next
		if base+n > lastPort {
			base = firstPort
		}
		free := 0
		for free < n && isFree(localAddress(base+free)) {
			free++
		}
		if ports.next = base + free; free == n {
			return localAddress(base)
		}
		ports.next++ // taken port
	}
	t.Fatal("no port is free")
	return ""
}

func localAddress(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// isFree reports whether TCP and UDP can both listen at an address.
func isFree(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer l.Close()
	u, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	_ = u.Close()
	return true
}

// occupy takes a port until the end of the test.
func occupy(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}
