package serve

import (
	"net"
	"strconv"
	"testing"
)

// Every port of dev is in the range that --port-base bounds, and no two listeners share a port.
func TestDevAddresses(t *testing.T) {
	for _, base := range []int{1, 7700, highestPortBase} {
		seen := make(map[string]bool)
		for member := range devMembers {
			for _, l := range listeners {
				address := devAddress(base, member, l.port)
				_, text, err := net.SplitHostPort(address)
				port, _ := strconv.Atoi(text)
				if err != nil || port < base || port > 65535 || port >= base+devMembers*portStep {
					t.Errorf("--port-base %d: %s of member %d is at %s", base, l.flag, member, address)
				}
				if seen[address] {
					t.Errorf("--port-base %d: %s twice", base, address)
				}
				seen[address] = true
			}
		}
	}
}
