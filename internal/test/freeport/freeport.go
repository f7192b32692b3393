// Package freeport finds ports for tests whose programs listen at a port that was chosen before. The ports are below those of
// outgoing connections, so no other process gets them while a program is down.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// The range of the ports.
const first, last = 12_000, 31_000

// next is the port to try next. It begins at a random one because of other test processes on this machine.
var next struct {
	sync.Mutex
	port int
}

// Address returns an address of 127.0.0.1 with a free port that no other test of this process gets.
func Address(t testing.TB) string {
	t.Helper()
	return At(Base(t, 1))
}

// Base returns the first of n successive free ports that no other test of this process gets.
func Base(t testing.TB, n int) int {
	t.Helper()
	next.Lock()
	defer next.Unlock()
	if next.port == 0 {
		next.port = first + rand.N(last-first)
	}
	for range last - first {
		base := next.port
		if base+n > last {
			base = first
		}
		free := 0
		for free < n && IsFree(At(base+free)) {
			free++
		}
		if next.port = base + free; free == n {
			return base
		}
		next.port++ // taken port
	}
	t.Fatal("no port is free")
	return 0
}

// At returns the address of 127.0.0.1 with a port.
func At(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// IsFree reports whether TCP and UDP can both listen at an address.
func IsFree(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = l.Close() }()
	u, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	_ = u.Close()
	return true
}
