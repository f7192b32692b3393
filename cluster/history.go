package cluster

import (
	"context"
	"io"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/internal/position"
)

// History is the replicated record of all leaderships and commands. Any goroutine may call its methods.
type History interface {
	// Position returns the last applied point. The node fills in the cluster.
	Position() position.Position
	// Judge reports whether the applied history contradicts p, which then belonged to entries that were set back, and why.
	// It is false for positions that the record does not cover.
	Judge(p position.Position) (setBack bool, why string)
	// JudgeSnapshot is Judge with the history in a snapshot. It is false for a snapshot that cannot be read, which the FSM
	// itself refuses.
	JudgeSnapshot(snapshot io.Reader, p position.Position) (setBack bool, why string)
	// Seal records durably that the history contradicts what witness knows to be committed. It makes a proposal, so this
	// node must lead.
	Seal(ctx context.Context, evidence position.Position, witness, why string) error
	// Sealed reports whether the history is sealed.
	Sealed() bool
}

// Position returns the last applied point of this cluster's history; zero before there is one.
func (n *Node) Position() position.Position {
	cluster, err := uuid.Parse(n.id.Cluster())
	if n.cfg.History == nil || err != nil {
		return position.Position{}
	}
	p := n.cfg.History.Position()
	p.Cluster = cluster
	return p
}
