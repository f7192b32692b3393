package transport

import (
	"net"
	"sync"

	"github.com/snowraft/snowraft/internal/broadcast"
)

// Links counts the open Raft connections that processes of other nodes opened to this node.
type Links struct {
	mu      sync.Mutex
	opened  uint64 // counts all links
	open    map[Origin]*openLinks
	hosts   map[string]*openHost // keyed by the ID of the node
	missed  Origin               // process of the last call of MarkMissed
	returns uint64               // counts the links that a missed process opened while it had none
	Changed broadcast.Signal     // sent when a process opens its first link, or its last link closes
}

// Origin is a process of a node.
type Origin struct{ Node, Process string }

type openLinks struct {
	count  int
	newest uint64
}

// openHost is the host from which a node opened its newest link.
type openHost struct {
	address string
	count   int    // open links of the node
	first   uint64 // the node's first link from this host
}

// Add counts a link from a host until the returned function is called.
func (l *Links) Add(from Origin, host string) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open, l.hosts = make(map[Origin]*openLinks), make(map[string]*openHost)
	}
	o := l.open[from]
	if o == nil {
		o = new(openLinks)
		l.open[from] = o
		if from == l.missed {
			l.returns++
		}
		l.Changed.Send()
	}
	l.opened++
	o.count, o.newest = o.count+1, l.opened
	h := l.hosts[from.Node]
	if h == nil {
		h = new(openHost)
		l.hosts[from.Node] = h
	}
	if h.count == 0 || h.address != host {
		h.address, h.first = host, l.opened
	}
	h.count++
	return sync.OnceFunc(func() { l.remove(from, o) })
}

func (l *Links) remove(from Origin, o *openLinks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.count--; o.count == 0 {
		delete(l.open, from)
		l.Changed.Send()
	}
	if h := l.hosts[from.Node]; h.count > 1 {
		h.count--
	} else {
		delete(l.hosts, from.Node)
	}
}

// HostOf returns a number that grows when a node opens a link from another host than before; 0 without a link.
func (l *Links) HostOf(id string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hosts[id]; h != nil {
		return h.first
	}
	return 0
}

// Has reports whether a process has a link.
func (l *Links) Has(from Origin) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[from] != nil
}

// MarkMissed returns a mark for StillMissed.
func (l *Links) MarkMissed(from Origin) (mark uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed = from
	return l.returns
}

// StillMissed reports whether a process has had no link since MarkMissed returned the mark. It returns false if MarkMissed was called for
// another process since then.
func (l *Links) StillMissed(from Origin, mark uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[from] == nil && l.missed == from && l.returns == mark
}

// NewestProcess returns the process of a node that opened the newest link; empty if the node has none.
func (l *Links) NewestProcess(id string) (process string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var newest uint64
	for from, o := range l.open {
		if from.Node == id && o.newest > newest {
			process, newest = from.Process, o.newest
		}
	}
	return process
}

// linkedConn is a link. When the connection closes or breaks, the read that waits for the next message fails and removes the
// link.
type linkedConn struct {
	net.Conn
	remove func()
}

// Read implements net.Conn.
func (c *linkedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.remove()
	}
	return n, err
}

// Close implements net.Conn.
func (c *linkedConn) Close() error {
	c.remove()
	return c.Conn.Close()
}
