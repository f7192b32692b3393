package serve

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/server"
)

// errCut is the error of a connection to or from a member that is cut off.
var errCut = errors.New("cut off by a key of snowraft dev")

// links are the connections among the members of dev. Each of them was dialed by a member, and each datagram sent by one, so that a
// member is cut off from the others at the ends that dial. Clients still reach it.
type links struct {
	base int // first port of the first member
	now  func() time.Time

	mu    sync.Mutex
	cut   [devMembers]bool
	conns map[*linked]struct{}
}

func newLinks(base int, now func() time.Time) *links {
	return &links{base: base, now: now, conns: make(map[*linked]struct{})}
}

// linked is a connection between two members.
type linked struct {
	net.Conn
	links    *links
	from, to int
}

// Close closes the connection.
func (c *linked) Close() error {
	c.links.mu.Lock()
	delete(c.links.conns, c)
	c.links.mu.Unlock()
	return c.Conn.Close()
}

// set cuts a member off from the others, or joins it to them again. It closes the connections of a member that is cut off.
func (l *links) set(member int, cut bool) {
	l.mu.Lock()
	l.cut[member] = cut
	var ending []*linked
	for c := range l.conns {
		if l.severed(c.from, c.to) {
			ending = append(ending, c)
		}
	}
	l.mu.Unlock()
	for _, c := range ending {
		_ = c.Close() // the member dials again
	}
}

// severed reports whether one of two members is cut off from the other. Requires l.mu held.
func (l *links) severed(from, to int) bool {
	return from != to && (l.cut[from] || to >= 0 && l.cut[to])
}

// between reports whether a message from a member to an address is lost.
func (l *links) between(from int, address string) (to int, lost bool) {
	to = -1
	if _, port, err := net.SplitHostPort(address); err == nil {
		if n, err := strconv.Atoi(port); err == nil && n >= l.base && n < l.base+devMembers*portStep {
			to = (n - l.base) / portStep
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return to, l.severed(from, to)
}

// track returns a connection that ends when one of its members is cut off.
func (l *links) track(conn net.Conn, from, to int) (net.Conn, error) {
	c := &linked{conn, l, from, to}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.severed(from, to) { // since the dial began
		_ = conn.Close()
		return nil, errCut
	}
	l.conns[c] = struct{}{}
	return c, nil
}

// link is the network of one member of dev.
type link struct {
	server.Network
	links *links
	own   int
}

// DialContext implements server.Network.
func (l *link) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	to, lost := l.links.between(l.own, address)
	if lost {
		return nil, errCut
	}
	conn, err := l.Network.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return l.links.track(conn, l.own, to)
}

// ListenGossip implements server.Network.
func (l *link) ListenGossip(ip string, port int) (memberlist.NodeAwareTransport, int, error) {
	t, bound, err := l.Network.ListenGossip(ip, port)
	if err != nil {
		return nil, 0, err
	}
	return &gossipLink{t, l}, bound, nil
}

// gossipLink is the gossip of one member of dev.
type gossipLink struct {
	memberlist.NodeAwareTransport
	link *link
}

// WriteTo implements memberlist.Transport.
func (g *gossipLink) WriteTo(b []byte, address string) (time.Time, error) {
	return g.WriteToAddress(b, memberlist.Address{Addr: address})
}

// WriteToAddress implements memberlist.NodeAwareTransport. It does not report a datagram that is lost.
func (g *gossipLink) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	if _, lost := g.link.links.between(g.link.own, to.Addr); lost {
		return g.link.links.now(), nil
	}
	return g.NodeAwareTransport.WriteToAddress(b, to)
}

// DialTimeout implements memberlist.Transport.
func (g *gossipLink) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	return g.DialAddressTimeout(memberlist.Address{Addr: address}, timeout)
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (g *gossipLink) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	member, lost := g.link.links.between(g.link.own, to.Addr)
	if lost {
		return nil, errCut
	}
	conn, err := g.NodeAwareTransport.DialAddressTimeout(to, timeout)
	if err != nil {
		return nil, err
	}
	return g.link.links.track(conn, g.link.own, member)
}
