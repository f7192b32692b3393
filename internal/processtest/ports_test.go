//go:build process

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
	ports.Lock()
	defer ports.Unlock()
	if ports.next == 0 {
		ports.next = firstPort + rand.N(lastPort-firstPort)
	}
	for range lastPort - firstPort {
		if ports.next++; ports.next >= lastPort {
			ports.next = firstPort
		}
		if address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports.next)); isFree(address) {
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// skipPorts keeps others off the next ports.
func skipPorts(n int) {
	ports.Lock()
	defer ports.Unlock()
	ports.next += n
}

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
