//go:build process || browser || prometheus

package processtest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// ports hands out ports below those that systems give to outgoing connections,
// so that nobody gets a member's ports while it is down. It begins at random
// for the sake of other test runs on this machine.
var ports struct {
	sync.Mutex
	next int
}

const firstPort, lastPort = 12000, 31000

// freeAddress returns an address of 127.0.0.1 whose port is free, and that no
// other test gets.
func freeAddress(t *testing.T) string {
	t.Helper()
	return freeAddresses(t, 1)
}

// freeAddresses is freeAddress for n ports one after the other, and returns the first.
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
		ports.next++ // the one that is taken
	}
	t.Fatal("no port is free")
	return ""
}

func localAddress(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// isFree reports whether both TCP and UDP can be listened for at an address.
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
