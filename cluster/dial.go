package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/trust"
)

// Dial implements raft.StreamLayer.
func (s *streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(address, forRaft, timeout)
}

// dialTerms opens a connection on which this node can request the term of another node.
func (s *streamLayer) dialTerms(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(address, forTerms, timeout)
}

// dial connects to a node at any of its possible addresses. It tries the address in its Raft address last.
func (s *streamLayer) dial(address raft.ServerAddress, what purpose, timeout time.Duration) (net.Conn, error) {
	id, addr, ok := strings.Cut(string(address), "@")
	if !ok {
		return nil, fmt.Errorf("the address of the member at %s is not known yet", address)
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	addresses, certain := s.where(id)
	if !slices.Contains(addresses, addr) {
		addresses = append(addresses, addr)
	}
	conn, err := race(ctx, addresses, func(ctx context.Context, i int) (net.Conn, error) {
		conn, err := s.try(ctx, id, addresses[i], what)
		if err != nil && (s.keys != nil || i < certain) { // any program may be at a hint
			s.refused(err)
		}
		return conn, err
	})
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", id, err)
	}
	conn = s.dialed.add(conn, raft.ServerID(id), address)
	if what == forRaft {
		conn = screen.RaftAnswers(conn)
	}
	return conn, nil
}

// try connects to a node at an address. It fails if an earlier process of that node is still alive.
func (s *streamLayer) try(ctx context.Context, id, addr string, what purpose) (net.Conn, error) {
	conn, from, err := s.greet(ctx, id, addr, what)
	if err != nil {
		return nil, err
	}
	if _, duplicated := s.duplicated(ctx, from, addr); duplicated {
		return nil, errors.Join(fmt.Errorf("%s: an earlier process of this member is alive", addr), conn.Close())
	}
	s.met(from, addr)
	return conn, nil
}

// greet runs the dialer's side of TLS and of the handshake at an address, and returns the node's own metadata.
func (s *streamLayer) greet(ctx context.Context, id, addr string, what purpose) (_ net.Conn, from peer.Meta, err error) {
	raw, err := s.connect(ctx, "tcp", addr)
	if err != nil {
		return nil, peer.Meta{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	conn := raw
	defer func() {
		if err != nil {
			_ = conn.Close()
			err = fmt.Errorf("%s: %w", addr, err)
		}
	}()
	if s.keys != nil {
		secured, err := s.keys.ConnectMember(ctx, raw, s.self().ID, id, memberProtocol)
		if errors.Is(err, trust.ErrOtherMember) {
			s.claimLife(lives.Claim{Address: addr})
		}
		if err != nil {
			s.foreign(raw.RemoteAddr(), err)
			return nil, peer.Meta{}, err
		}
		conn = secured
	}
	if from, err = greet(conn, hello{From: s.self(), To: id, For: what}); err != nil {
		if trust.Refused(err) {
			s.foreign(raw.RemoteAddr(), err)
		}
		return nil, peer.Meta{}, err
	}
	if from.ID != id {
		return nil, peer.Meta{}, fmt.Errorf("the member at this address has the ID %q", from.ID)
	}
	if !stop() {
		return nil, peer.Meta{}, ctx.Err()
	}
	return conn, from, conn.SetDeadline(time.Time{})
}

// Greet implements Greeter.
func (s *streamLayer) Greet(id raft.ServerID, address raft.ServerAddress) error {
	conn, err := s.Dial(peer.RaftAddress(string(id), string(address)), handshakeTimeout)
	if err != nil {
		return err
	}
	return conn.Close()
}
