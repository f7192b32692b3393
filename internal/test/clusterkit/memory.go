package clusterkit

import (
	"context"
	"net"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/internal/test/bubble"
	"github.com/snowraft/snowraft/internal/test/memnet"
)

// Streams are the connections of a network.
type Streams interface {
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Machine is the network of this machine.
type Machine struct {
	net.ListenConfig
	net.Dialer
}

// Network is the network of a host.
type Network interface {
	Streams
	// ListenGossip binds a port for gossip at an IP address, and returns the bound port.
	ListenGossip(ip string, port int) (memberlist.NodeAwareTransport, int, error)
}

// InMemory runs a test in synthetic time, on a network in memory, so that a busy machine delays no answer.
func InMemory(t *testing.T, test func(t *testing.T, network Network)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) { test(t, memnet.New().Host("127.0.0.1")) })
}
