package cluster

import (
	"net"
	"sync"

	"github.com/hashicorp/raft"
)

// dialed holds the connections that this node opened and has not closed. Raft's pool keeps connections until they fail, even
// connections to an address that no member has any longer.
type dialed struct {
	mu    sync.Mutex
	conns map[*dialedConn]bool
}

type dialedConn struct {
	net.Conn
	id raft.ServerID
	to raft.ServerAddress
	of *dialed
}

func (d *dialed) add(conn net.Conn, id raft.ServerID, to raft.ServerAddress) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns == nil {
		d.conns = make(map[*dialedConn]bool)
	}
	c := &dialedConn{conn, id, to, d}
	d.conns[c] = true
	return c
}

// Close implements net.Conn.
func (c *dialedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// closeAll closes all connections, from which the other nodes learn that this node stopped.
func (d *dialed) closeAll() {
	d.closeAbandoned(func(raft.ServerID) (raft.ServerAddress, error) { return "", ErrClosed })
}

// closeAbandoned closes each connection whose address is no longer the current address of its member, or whose member is no
// longer known. It reports whether there were any.
func (d *dialed) closeAbandoned(current func(raft.ServerID) (raft.ServerAddress, error)) bool {
	var abandoned []*dialedConn
	d.mu.Lock()
	for c := range d.conns {
		if address, err := current(c.id); err != nil || address != c.to {
			abandoned = append(abandoned, c)
		}
	}
	d.mu.Unlock()
	for _, c := range abandoned {
		_ = c.Close()
	}
	return len(abandoned) > 0
}
