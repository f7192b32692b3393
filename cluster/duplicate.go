package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// A data directory that was copied makes two processes of one member. Their numbers of starts look like those of a member
// that was restarted, so a node that meets another process of a member than before asks whether that one still lives. It
// does if it answers now: a process that was restarted ended before its successor could be met. The later process is
// refused before it exchanges a message of Raft's, because two voters of one identity could vote twice.
//
// A process that does not answer, behind a partition for example, is taken to have ended. When it is heard again, it is
// the later one.

// probeTimeout bounds the wait for an earlier process. It delays members that were restarted at other addresses.
const probeTimeout = time.Second

// earlier returns the process that was met as m's node last and the addresses at which it may be; none if that is m.
func (g *gossip) earlier(m meta) (meta, []string) {
	p, _ := g.peer(m.ID)
	if p.met.ID == "" || p.met.Process == m.Process {
		return meta{}, nil
	}
	addresses := []string{p.met.Raft}
	if p.at != "" && p.at != p.met.Raft {
		addresses = append(addresses, p.at)
	}
	return p.met, addresses
}

// duplicated returns the process that was met as m's node before, if that one is alive. m answered at an address that
// was dialed, or dialed this node: then the address is empty.
func (s *streamLayer) duplicated(ctx context.Context, m meta, at string) (earlier meta, alive bool) {
	earlier, addresses := s.earlier(m)
	addresses = slices.DeleteFunc(addresses, func(a string) bool { return a == at })
	if len(addresses) == 0 {
		return meta{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := race(ctx, addresses, func(ctx context.Context, i int) (net.Conn, error) {
		conn, from, err := s.greet(ctx, m.ID, addresses[i], forRaft)
		if err == nil && from.Process != earlier.Process {
			err = errors.Join(errors.New("the process has changed"), conn.Close())
		}
		return conn, err
	})
	if err != nil {
		return meta{}, false
	}
	_ = conn.Close()
	s.duplicate(m, earlier)
	return earlier, true
}

// receptive judges a caller, and first whether another process of its node lives.
func (s *streamLayer) receptive(h hello, verified string) handshakeReply {
	if s.keys == nil || h.From.ID == verified {
		if earlier, alive := s.duplicated(s.ctx, h.From, ""); alive {
			return handshakeReply{Refused: duplicate, Detail: "one with the Raft address " + earlier.Raft + " was met before and is alive", why: "its data directory was copied"}
		}
	}
	return s.judge(h, verified)
}

// onDuplicate logs that two processes of one member live.
func (n *Node) onDuplicate(m, earlier meta) {
	if n.gossip.first(m.gossipName()) {
		n.logger.Error("second process of a member refused: its data directory was copied; stop the second process and delete the copy",
			"name", m.Name, "id", m.ID, "first", earlier.Raft, "second", m.Raft)
	}
}

// failDuplicate stops this node because a member refused it.
func (n *Node) failDuplicate(err error) {
	n.Fail(fmt.Errorf("%w; the data directory %s of member %s was copied, or is the copy: two processes must not run with one identity. "+
		"Delete the copy; a new member starts with an empty directory", err, n.cfg.DataDir, n.ID()))
}

// heardOfSelf takes what gossip says of another process with this node's identity. One that started before was the
// predecessor of this process.
func (g *gossip) heardOfSelf(m meta) {
	if own := g.self(); m.Process != own.Process && m.Starts >= own.Starts && g.first(m.gossipName()) {
		g.logger.Error("another process has the identity of this member: the data directory was copied; stop the process that runs with the copy and delete the copy",
			"id", m.ID, "address", m.Raft)
	}
}

// first reports whether it is called with a gossip name for the first time; false when there were too many.
func (g *gossip) first(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told[name] || len(g.told) >= maxPeers {
		return false
	}
	g.told[name] = true
	return true
}
