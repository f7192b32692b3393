package cluster

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/trust"
)

// An exchange of lives is a connection to the Raft port for this purpose alone. The dialer's greeting has a nonce. The acceptor
// answers with its life and a nonce of its own, before any judgement about cluster IDs, and the dialer then sends its life.

// MeetLife implements LifeMeeter.
func (s *streamLayer) MeetLife(ctx context.Context, id, address string) (Relation, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	raw, err := s.connect(ctx, "tcp", address)
	if err != nil {
		return Unrelated, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	conn := raw
	if s.keys != nil {
		// Without the protocol of members, a program at an address that was reused does not list this node as a foreign peer.
		secured, err := s.keys.ConnectMember(ctx, raw, s.self().ID, trust.AnyMember)
		if err != nil {
			return Unrelated, err
		}
		conn, id = secured, s.keys.ServerOf(secured.ConnectionState()).ID
	}
	defer func() { _ = conn.Close() }()
	return s.exchange(ctx, conn, id)
}

// exchange runs the dialer's side.
func (s *streamLayer) exchange(ctx context.Context, conn net.Conn, id string) (Relation, error) {
	self, nonce := s.self(), newNonce()
	if err := writeFrame(conn, hello{From: self, To: id, For: forLives, Nonce: nonce}); err != nil {
		return Unrelated, err
	}
	var reply handshakeReply
	if err := readLongFrame(conn, &reply, maxLife); err != nil {
		return Unrelated, err
	}
	if err := reply.err(); err != nil {
		return Unrelated, err
	}
	from, err := peer.DecodeMeta(reply.From.Encode())
	if err != nil {
		return Unrelated, err
	}
	if reply.Life == nil {
		return Unrelated, errors.New("lives: no answer")
	}
	theirs := *reply.Life
	if err := theirs.check(nonce); err != nil {
		return Unrelated, err
	}
	if err := writeFrame(conn, s.life(ctx, theirs.Cluster, theirs.Asks)); err != nil {
		return Unrelated, err
	}
	return s.learnLife(from, theirs), nil
}

// receiveLife reads the life of a dialer that was sent the nonce, and closes the connection.
func (s *streamLayer) receiveLife(conn net.Conn, from peer.Meta, nonce string) {
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return
	}
	stop := context.AfterFunc(s.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var theirs life
	err := readLongFrame(conn, &theirs, maxLife)
	if err == nil {
		err = theirs.check(nonce)
	}
	if err != nil {
		s.logger.Debug("life of a peer not received", "address", conn.RemoteAddr(), "error", err)
		return
	}
	s.learnLife(from, theirs)
}

// answerLife returns the acceptor's answer to a greeting for an exchange of lives.
func (n *Node) answerLife(h hello) handshakeReply {
	if n.id.Cluster() == "" || h.From.Cluster == "" || uuid.Validate(h.Nonce) != nil {
		return handshakeReply{Refused: handshakeError, Detail: "an exchange of lives needs two clusters and a nonce"}
	}
	own := n.life(n.ctx, h.From.Cluster, h.Nonce)
	own.Asks = newNonce()
	return handshakeReply{From: n.meta(), Life: &own}
}
