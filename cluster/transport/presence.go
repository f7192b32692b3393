package transport

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/trust"
)

// Presence is the kind of answer at the address of a node.
type Presence int

const (
	// Absent means that nothing answers.
	Absent Presence = iota
	// Other means that another node answers.
	Other
	// Present means that the answer claims to be from the node.
	Present
	// Unclear means that the answer is not the handshake of a node.
	Unclear
)

// CheckPresence reports whether a node runs at a Raft address. It changes nothing at the node, needs no secret, and returns within
// timeout.
func CheckPresence(ctx context.Context, address, node string, timeout time.Duration) Presence {
	// TLS comes first: to a secured node, a greeting without TLS is a peer that lost its secret.
	for _, ask := range []func(context.Context, net.Conn, string) (Presence, error){checkSecured, checkOpen} {
		presence, err := checkPresence(ctx, address, timeout/2, func(conn net.Conn) (Presence, error) { return ask(ctx, conn, node) })
		if err == nil {
			return presence
		}
	}
	return Unclear
}

func checkPresence(ctx context.Context, address string, timeout time.Duration, ask func(net.Conn) (Presence, error)) (Presence, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return Absent, nil // nothing answers
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return Unclear, err
		}
	}
	return ask(conn)
}

// checkSecured reads the ID in the certificate of a node.
func checkSecured(ctx context.Context, conn net.Conn, node string) (Presence, error) {
	switch id, err := trust.Claimed(ctx, conn); {
	case err != nil:
		return Unclear, err
	case id == "":
		return Unclear, errors.New("not the certificate of a member")
	case id == node:
		return Present, nil
	default:
		return Other, nil
	}
}

// checkOpen greets a node without a secret. It acts as a caller without a cluster, which changes nothing at the node.
// The wanted node refuses it because it has no cluster; any other node refuses it because it wants another node.
func checkOpen(_ context.Context, conn net.Conn, node string) (Presence, error) {
	err := writeFrame(conn, Greeting{From: peer.Meta{ID: uuid.NewString(), Name: "probe", Process: peer.NewProcess(), Raft: "0.0.0.0:0"}, To: node})
	if err != nil {
		return Unclear, err
	}
	var reply Reply
	if err := readFrame(conn, &reply); err != nil {
		return Unclear, err
	}
	switch reply.Refused {
	case OtherNode:
		return Other, nil
	case OtherCluster, accepted:
		return Present, nil
	default:
		return Unclear, errors.New(string(reply.Refused))
	}
}
