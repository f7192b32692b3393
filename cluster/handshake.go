package cluster

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The handshake opens every connection to a Raft port. The dialer says who it
// is, of which cluster, and whom it wants; the acceptor says yes, or why not.
// Thus two clusters never exchange a Raft message, not even after an address
// was given to another node.
const (
	handshakeMagic   = "SNOWRAFT\x01"
	handshakeTimeout = 5 * time.Second
	maxHandshake     = 4 << 10
)

// hello is the dialer's word.
type hello struct {
	From meta   `json:"from"`
	To   string `json:"to"` // the ID of the node wanted
	// For says what the connection is for; empty: Raft's messages.
	For purpose `json:"for,omitempty"`
}

// purpose is what a connection is for.
type purpose string

const (
	forRaft  purpose = ""
	forTerms purpose = "terms" // see terms
)

// handshakeReply is the acceptor's answer.
type handshakeReply struct {
	Refused refusal `json:"refused,omitempty"`
	Detail  string  `json:"detail,omitempty"`
}

type refusal string

const (
	accepted       refusal = ""
	otherCluster   refusal = "other-cluster"
	otherNode      refusal = "other-node"
	memberRemoved  refusal = "removed"
	handshakeError refusal = "error"
)

// greet runs the dialer's side.
func greet(conn net.Conn, h hello, timeout time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(min(timeout, handshakeTimeout))); err != nil {
		return err
	}
	if err := writeFrame(conn, h); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	var reply handshakeReply
	if err := readFrame(conn, &reply); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if err := reply.err(); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// err returns the error that the reply means to the dialer; nil if it accepts.
func (r handshakeReply) err() error {
	switch r.Refused {
	case accepted:
		return nil
	case memberRemoved:
		return ErrRemoved
	case otherCluster:
		return fmt.Errorf("%w: %s", ErrOtherCluster, r.Detail)
	default:
		return fmt.Errorf("refused (%s): %s", r.Refused, r.Detail)
	}
}

// Handshake is the handshake of two nodes of one process: a simulated
// Transport, which has no connections to shake hands on, calls it on the
// dialer before it carries the first message to another node.
func (n *Node) Handshake(to *Node) error {
	err := to.judge(hello{From: n.meta(), To: to.ID()}).err()
	if err != nil {
		n.onRefused(err)
	}
	return err
}

// receive runs the acceptor's side and returns what the connection is for.
func receive(conn net.Conn, judge func(hello) handshakeReply) (purpose, error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return "", err
	}
	var h hello
	if err := readFrame(conn, &h); err != nil {
		return "", fmt.Errorf("handshake: %w", err)
	}
	reply := judge(h)
	if h.For != forRaft && h.For != forTerms && reply.Refused == accepted {
		reply = handshakeReply{Refused: handshakeError, Detail: fmt.Sprintf("a connection for %q is not known here", h.For)}
	}
	if err := writeFrame(conn, reply); err != nil {
		return "", fmt.Errorf("handshake: %w", err)
	}
	if reply.Refused != accepted {
		return "", fmt.Errorf("refused %s (%s) at %s: %s", h.From.Name, h.From.ID, conn.RemoteAddr(), reply.Detail)
	}
	return h.For, conn.SetDeadline(time.Time{})
}

func writeFrame(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint16([]byte(handshakeMagic), uint16(len(body))) //nolint:gosec // far below 64 KiB
	_, err = w.Write(append(frame, body...))
	return err
}

func readFrame(r io.Reader, v any) error {
	var head [len(handshakeMagic) + 2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	if string(head[:len(handshakeMagic)]) != handshakeMagic {
		return errors.New("that is not the Raft port of a snowraft member of this generation")
	}
	size := binary.BigEndian.Uint16(head[len(handshakeMagic):])
	if size > maxHandshake {
		return fmt.Errorf("a greeting of %d bytes, at most %d are allowed", size, maxHandshake)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}
