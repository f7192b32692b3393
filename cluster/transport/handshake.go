package transport

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
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

// Greeting is the dialer's message.
type Greeting struct {
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
	// ForLives is the purpose of an exchange of lives, see lives.Message.
	ForLives purpose = "lives"
)

// Reply is the acceptor's answer. A refusal contains no IDs, because any program may have dialed.
type Reply struct {
	Refused refusal        `json:"refused,omitempty"`
	Detail  string         `json:"detail,omitempty"`
	From    peer.Meta      `json:"from,omitzero"`  // the acceptor, if it accepts
	Life    *lives.Message `json:"life,omitempty"` // only in an exchange of lives

	Why string // detail for the acceptor's own log
}

type refusal string

const (
	accepted refusal = ""
	// OtherCluster refuses a node of another cluster, or of none.
	OtherCluster refusal = "other-cluster"
	// OtherNode refuses a caller that wants another node, or is not the node of its certificate.
	OtherNode refusal = "other-node"
	// MemberRemoved refuses a member that was removed.
	MemberRemoved refusal = "removed"
	duplicate     refusal = "duplicate"
	// Malformed refuses a greeting that cannot be answered.
	Malformed refusal = "error"
)

// sendGreeting runs the dialer's side and returns the acceptor's claims.
func sendGreeting(conn io.ReadWriter, h Greeting) (peer.Meta, error) {
	if err := writeFrame(conn, h); err != nil {
		return peer.Meta{}, fmt.Errorf("handshake: %w", err)
	}
	var reply Reply
	if err := readFrame(conn, &reply); err != nil {
		return peer.Meta{}, fmt.Errorf("handshake: %w", err)
	}
	if err := reply.Err(); err != nil {
		return peer.Meta{}, err
	}
	return peer.DecodeMeta(reply.From.Encode())
}

// Err returns the dialer's error for a refusal; nil if the acceptor accepts.
func (r Reply) Err() error {
	switch r.Refused {
	case accepted:
		return nil
	case MemberRemoved:
		return peer.ErrRemoved
	case duplicate:
		return fmt.Errorf("%w: %s", peer.ErrDuplicate, r.Detail)
	case OtherCluster:
		return fmt.Errorf("%w: %s", peer.ErrOtherCluster, r.Detail)
	default:
		return fmt.Errorf("refused (%s): %s", r.Refused, r.Detail)
	}
}

// answerGreeting runs the acceptor's side and returns the dialer's message and the reply to it.
func answerGreeting(conn io.ReadWriter, judge func(Greeting) Reply) (h Greeting, reply Reply, err error) {
	if err := readFrame(conn, &h); err != nil {
		return h, reply, fmt.Errorf("handshake: %w", err)
	}
	reply = judge(h)
	if h.For != forRaft && h.For != forTerms && h.For != forLoss && h.For != ForLives && reply.Refused == accepted {
		reply = Reply{Refused: Malformed, Detail: fmt.Sprintf("unknown purpose %q of the connection", h.For)}
	}
	if err := writeFrame(conn, reply); err != nil {
		return h, reply, fmt.Errorf("handshake: %w", err)
	}
	if reply.Refused != accepted {
		return h, reply, fmt.Errorf("refused %q (%q): %s", h.From.Name, h.From.ID, cmp.Or(reply.Why, reply.Detail))
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

// memberProtocol is the protocol that a member announces (ALPN) when it connects to a Raft port with TLS. Any other program,
// such as a client with a wrong port, announces another protocol or none.
const memberProtocol = "snowraft-raft"

// detectMember returns a configuration of a server that finds out whether the client announces itself as a member.
func detectMember(config *tls.Config) (_ *tls.Config, member *bool) {
	member = new(bool)
	choose := config.GetConfigForClient
	config.GetConfigForClient = func(client *tls.ClientHelloInfo) (*tls.Config, error) {
		*member = slices.Contains(client.SupportedProtos, memberProtocol)
		return choose(client)
	}
	return config, member
}

// isMember reports whether a TLS client announces itself as a member to a node without a secret. head are the bytes of the
// client that were read before.
func isMember(conn net.Conn, head []byte) bool {
	config, member := detectMember(&tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return nil, peer.ErrEncrypts
	}})
	_ = tls.Server(heardBefore{conn, io.MultiReader(bytes.NewReader(head), conn)}, config).Handshake() // fails, because there is no certificate
	return *member
}

// heardBefore is a connection with another source of what it reads.
type heardBefore struct {
	net.Conn
	from io.Reader
}

func (h heardBefore) Read(b []byte) (int, error) { return h.from.Read(b) }
