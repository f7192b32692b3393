package peer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/trust"
)

var (
	// ErrRemoved reports that this node was removed from its cluster.
	ErrRemoved = errors.New("this member was removed from the cluster; empty its data directory to let it join again as a new member")
	// ErrDuplicate reports that another process has this node's identity.
	ErrDuplicate = errors.New("another process has the identity of this member")
	// ErrUnreachable reports that another member cannot be contacted. Its reason in the API is MEMBER_UNREACHABLE.
	ErrUnreachable = errors.New("member cannot be contacted")
	// ErrOtherCluster reports that a peer belongs to another cluster.
	ErrOtherCluster = errors.New("the member belongs to another cluster")
	// ErrEncrypts reports a peer with a cluster secret, to a member without one.
	ErrEncrypts = errors.New("the peer encrypts, and this member has no cluster secret: restart this member with --secret-file, " +
		"with the file that the peer uses")
	// ErrPlain reports a peer without a cluster secret, to a member with one.
	ErrPlain = errors.New("the peer does not encrypt: restart the peer with --secret-file, with the file that this member uses")
	// ErrOtherSecret reports a peer that has none of this member's cluster secrets.
	ErrOtherSecret = errors.New("the peer has another cluster secret: copy one secret file to both members")
)

// Misunderstanding returns the problem with the peer's secret that an error reveals; nil if none.
func Misunderstanding(err error) error {
	var plain tls.RecordHeaderError
	var foreign *trust.UnknownIssuerError
	switch {
	case errors.Is(err, ErrEncrypts), errors.Is(err, screen.ErrSealed):
		return ErrEncrypts
	case errors.Is(err, ErrPlain), errors.Is(err, screen.ErrUnsealed), errors.As(err, &plain) && strings.HasPrefix(Magic, string(plain.RecordHeader[:])):
		return ErrPlain
	case errors.Is(err, ErrOtherSecret), errors.Is(err, screen.ErrOtherKey), errors.As(err, &foreign), trust.Refused(err):
		return ErrOtherSecret
	}
	return nil
}

// Reason returns a short reason of a failed attempt to reach a node.
func Reason(err error) string {
	text := err.Error()
	for _, r := range networkReasons {
		if strings.Contains(text, r.in) {
			return r.short
		}
	}
	if _, reason, ok := strings.Cut(text, "failed to join "); ok { // memberlist's, with the address and several lines
		_, text, _ = strings.Cut(reason, ": ")
	}
	return strings.Join(strings.Fields(text), " ")
}

// networkReasons maps the usual reasons in network errors, whose texts are long, to short forms.
var networkReasons = []struct{ in, short string }{
	{"connection refused", "connection refused"},
	{"no such host", "no such host"},
	{"no route to host", "no route to host"},
	{"network is unreachable", "network is unreachable"},
	{"connection reset", "connection reset"},
	{"timeout", "timed out"},
	{"deadline exceeded", "timed out"},
	{"EOF", "connection closed"},
	{screen.ErrRefused.Error(), "no member's gossip answers there"},
}

// OtherClusterError reports that a node belongs to another cluster. It wraps ErrOtherCluster.
type OtherClusterError struct {
	Name, Address string // name and Raft address of the node
	Theirs, Ours  string // cluster IDs

	ID        string // ID of the node
	Contacted bool   // the node is at the gossip address that was contacted
}

func (e *OtherClusterError) Error() string {
	return fmt.Sprintf("%v: %s (%s) is in cluster %s, this member in cluster %s", ErrOtherCluster, e.Name, e.Address, e.Theirs, e.Ours)
}

func (*OtherClusterError) Unwrap() error { return ErrOtherCluster }
