package lives

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/names"
)

const (
	// MaxMessage bounds a message in bytes: 1,024 ancestors and the addresses of 16 members fit.
	MaxMessage = 1<<16 - 1
	// MaxAncestors bounds the ancestors in a message.
	MaxAncestors = 1024
	// MaxMembers bounds the members in a message.
	MaxMembers = 16
)

// Message is a node's message about its cluster, the half of an exchange.
type Message struct {
	Cluster   string   `json:"c"`
	Ancestors []string `json:"a,omitempty"`
	// Answers is the nonce of the other side. Asks is the own nonce; only the acceptor sends it here.
	Answers string `json:"n"`
	Asks    string `json:"q,omitempty"`
	// Ends reports that an operator of this cluster ended the other's, and that a majority confirmed, after the other's nonce
	// arrived, that this node leads. Another member names the leader instead, in raft's form.
	Ends   bool   `json:"e,omitempty"`
	Leader string `json:"l,omitempty"`
	// Members are addresses of members, in raft's form.
	Members []string `json:"m,omitempty"`
}

// Check returns an error unless the message answers a nonce and can be believed to be a member's.
func (m Message) Check(nonce string) error {
	if m.Answers != nonce {
		return errors.New("lives: answer to another question")
	}
	if len(m.Ancestors) > MaxAncestors || len(m.Members) > MaxMembers {
		return fmt.Errorf("lives: %d ancestors and %d members", len(m.Ancestors), len(m.Members))
	}
	for _, id := range append([]string{m.Cluster}, m.Ancestors...) {
		if uuid.Validate(id) != nil {
			return fmt.Errorf("lives: bad cluster ID %q", id)
		}
	}
	for _, address := range append([]string{m.Leader}, m.Members...) {
		if err := names.CheckText("lives: address", address); err != nil || len(address) > peer.MaxMeta {
			return errors.Join(errors.New("lives: bad address"), err)
		}
	}
	return nil
}

// NewNonce returns a question for an exchange.
func NewNonce() string { return uuid.NewString() }
