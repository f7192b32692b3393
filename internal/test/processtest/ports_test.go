//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"net"
	"testing"
)

// occupy takes a port until the end of the test.
func occupy(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}
