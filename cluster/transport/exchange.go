package transport

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/trust"
)

// An exchange of lives is a connection to the Raft port for this purpose alone. The dialer's greeting has a nonce. The acceptor
// answers with its life and a nonce of its own, before any judgement about cluster IDs, and the dialer then sends its life.

// MeetLife implements lives.Dialer.
func (s *StreamLayer) MeetLife(ctx context.Context, id, address string) (lives.Relation, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	raw, err := s.Connect(ctx, "tcp", address)
	if err != nil {
		return lives.Unrelated, err
	}
	stop := endWith(ctx, raw)
	defer stop()
	conn := raw
	if s.keys != nil {
		// Without the protocol of members, a program at an address that was reused does not list this node as a foreign peer.
		secured, err := s.keys.ConnectMember(ctx, raw, s.Self().ID, trust.AnyMember)
		if err != nil {
			return lives.Unrelated, err
		}
		conn, id = secured, s.keys.ServerOf(secured.ConnectionState()).ID
	}
	defer func() { _ = conn.Close() }()
	return s.exchange(ctx, conn, id)
}

// exchange runs the dialer's side.
func (s *StreamLayer) exchange(ctx context.Context, conn net.Conn, id string) (lives.Relation, error) {
	self, nonce := s.Self(), lives.NewNonce()
	if err := writeFrame(conn, Greeting{From: self, To: id, For: ForLives, Nonce: nonce}); err != nil {
		return lives.Unrelated, err
	}
	var reply Reply
	if err := readLongFrame(conn, &reply, lives.MaxMessage); err != nil {
		return lives.Unrelated, err
	}
	if err := reply.Err(); err != nil {
		return lives.Unrelated, err
	}
	from, err := peer.DecodeMeta(reply.From.Encode())
	if err != nil {
		return lives.Unrelated, err
	}
	if reply.Life == nil {
		return lives.Unrelated, errors.New("lives: no answer")
	}
	theirs := *reply.Life
	if err := theirs.Check(nonce); err != nil {
		return lives.Unrelated, err
	}
	if err := writeFrame(conn, s.Life(ctx, theirs.Cluster, theirs.Asks)); err != nil {
		return lives.Unrelated, err
	}
	return s.LearnLife(from, theirs), nil
}

// serveLifeConn reads the life of a dialer that was sent the nonce, and closes the connection.
func (s *StreamLayer) serveLifeConn(conn net.Conn, from peer.Meta, nonce string) {
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return
	}
	defer endWith(s.ctx, conn)()
	var theirs lives.Message
	err := readLongFrame(conn, &theirs, lives.MaxMessage)
	if err == nil {
		err = theirs.Check(nonce)
	}
	if err != nil {
		s.logger.Debug("life of a peer not received", "address", conn.RemoteAddr(), "error", err)
		return
	}
	s.LearnLife(from, theirs)
}
