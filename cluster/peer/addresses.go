package peer

import (
	"net"
	"strings"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"
)

// RaftAddress returns a node's address in raft's form: "ID@host:port". Without the ID, raft would refuse two servers with one
// address. But a node that lost its data returns as a new node at its old address, and the old node may not be removed yet.
// The ID also lets a dialer name the node that it wants.
func RaftAddress(id, hostPort string) raft.ServerAddress {
	return raft.ServerAddress(id + "@" + hostPort)
}

// HostPort returns the part of a node's Raft address, ID@host:port, that can be dialed.
func HostPort(address raft.ServerAddress) string {
	_, hostPort, ok := strings.Cut(string(address), "@")
	if !ok {
		return string(address)
	}
	return hostPort
}

// NodeID returns the ID in an address of raft's form; empty if there is none.
func NodeID(address string) string {
	id, _, _ := strings.Cut(address, "@")
	if uuid.Validate(id) != nil {
		return ""
	}
	return id
}

// Host returns an address without its port.
func Host(from net.Addr) string {
	host, _, err := net.SplitHostPort(from.String())
	if err != nil {
		return from.String()
	}
	return host
}

// Magic begins every message of the handshake of a connection to a Raft port.
const Magic = "SNOWRAFT\x01"
