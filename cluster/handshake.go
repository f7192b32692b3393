package cluster

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
)

// The handshake opens every connection to a Raft port. The dialer sends its identity, its cluster and the ID of the wanted
// node; the acceptor accepts, or refuses with a reason. Therefore two clusters never exchange a Raft message, not even after
// an address was reused for another node.
const (
	handshakeTimeout = 5 * time.Second
	maxHandshake     = 4 << 10

	tlsHandshake = 22 // the first byte of a TLS connection
)

// hello is the dialer's message.
type hello struct {
	From peer.Meta `json:"from"`
	To   string    `json:"to"` // ID of the wanted node
	// For is the purpose of the connection; empty means Raft's messages.
	For purpose `json:"for,omitempty"`
	// Nonce is for an exchange of lives.
	Nonce string `json:"nonce,omitempty"`
}

// purpose is the purpose of a connection.
type purpose string

const (
	forRaft  purpose = ""
	forTerms purpose = "terms" // see terms
	forLoss  purpose = "loss"  // see Loss
	forLives purpose = "lives" // see lives.Message
)

// handshakeReply is the acceptor's answer. A refusal contains no IDs, because any program may have dialed.
type handshakeReply struct {
	Refused refusal        `json:"refused,omitempty"`
	Detail  string         `json:"detail,omitempty"`
	From    peer.Meta      `json:"from,omitzero"`  // the acceptor, if it accepts
	Life    *lives.Message `json:"life,omitempty"` // only in an exchange of lives

	why string // detail for the acceptor's own log
}

type refusal string

const (
	accepted       refusal = ""
	otherCluster   refusal = "other-cluster"
	otherNode      refusal = "other-node"
	memberRemoved  refusal = "removed"
	duplicate      refusal = "duplicate"
	handshakeError refusal = "error"
)

// greet runs the dialer's side and returns the acceptor's claims.
func greet(conn io.ReadWriter, h hello) (peer.Meta, error) {
	if err := writeFrame(conn, h); err != nil {
		return peer.Meta{}, fmt.Errorf("handshake: %w", err)
	}
	var reply handshakeReply
	if err := readFrame(conn, &reply); err != nil {
		return peer.Meta{}, fmt.Errorf("handshake: %w", err)
	}
	if err := reply.err(); err != nil {
		return peer.Meta{}, err
	}
	return peer.DecodeMeta(reply.From.Encode())
}

// err returns the dialer's error for a refusal; nil if the acceptor accepts.
func (r handshakeReply) err() error {
	switch r.Refused {
	case accepted:
		return nil
	case memberRemoved:
		return peer.ErrRemoved
	case duplicate:
		return fmt.Errorf("%w: %s", peer.ErrDuplicate, r.Detail)
	case otherCluster:
		return fmt.Errorf("%w: %s", peer.ErrOtherCluster, r.Detail)
	default:
		return fmt.Errorf("refused (%s): %s", r.Refused, r.Detail)
	}
}

// Handshake performs the handshake between two nodes of one process. A simulated Transport has no connections for a
// handshake, so it calls Handshake on the dialer before it carries the first message to another node.
func (n *Node) Handshake(to *Node) error {
	reply := to.judge(hello{From: n.meta(), To: to.ID()}, "")
	if err := reply.err(); err != nil {
		n.onRefused(err)
		return err
	}
	n.gossip.met(reply.From, reply.From.Raft)
	return nil
}

// receive runs the acceptor's side and returns the dialer's message and the reply to it.
func receive(conn io.ReadWriter, judge func(hello) handshakeReply) (h hello, reply handshakeReply, err error) {
	if err := readFrame(conn, &h); err != nil {
		return h, reply, fmt.Errorf("handshake: %w", err)
	}
	reply = judge(h)
	if h.For != forRaft && h.For != forTerms && h.For != forLoss && h.For != forLives && reply.Refused == accepted {
		reply = handshakeReply{Refused: handshakeError, Detail: fmt.Sprintf("unknown purpose %q of the connection", h.For)}
	}
	if err := writeFrame(conn, reply); err != nil {
		return h, reply, fmt.Errorf("handshake: %w", err)
	}
	if reply.Refused != accepted {
		return h, reply, fmt.Errorf("refused %q (%q): %s", h.From.Name, h.From.ID, cmp.Or(reply.why, reply.Detail))
	}
	return h, reply, nil
}

func writeFrame(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint16([]byte(peer.Magic), uint16(len(body))) //nolint:gosec // at most lives.MaxMessage
	_, err = w.Write(append(frame, body...))
	return err
}

func readFrame(r io.Reader, v any) error { return readLongFrame(r, v, maxHandshake) }

func readLongFrame(r io.Reader, v any, most uint16) error {
	var head [len(peer.Magic) + 2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	if head[0] == tlsHandshake {
		return peer.ErrEncrypts
	}
	if string(head[:len(peer.Magic)]) != peer.Magic {
		return errors.New("not the Raft port of a Snowraft member of this protocol version")
	}
	size := binary.BigEndian.Uint16(head[len(peer.Magic):])
	if size > most {
		return fmt.Errorf("greeting of %d bytes: expected at most %d bytes", size, most)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}
