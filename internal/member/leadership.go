package member

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// newLead returns the command that begins a leadership.
func newLead() *commandv1.Command {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	return &commandv1.Command{Version: fsm.LineageVersion, Body: &commandv1.Command_Lead{Lead: &commandv1.Lead{Nonce: nonce}}}
}

// first returns the first command of a leadership; nil while the version in use has none.
func (m *Member) first() ([]byte, error) {
	if m.fsmVersion() < fsm.LineageVersion {
		return nil, nil
	}
	return fsm.Encode(newLead())
}

// recordLeadership begins a leadership whose leader was elected before the version in use knew the command.
func (m *Member) recordLeadership(ctx context.Context) error {
	_, err := m.propose(ctx, m.clock.Now().Wall, newLead())
	return err
}

// Seal seals the cluster, so that it grants nothing more; only the leader can. The evidence is an encoded position that
// contradicts the history of the cluster; the log refuses any other. Without evidence, the seal is the word of an operator.
func (m *Member) Seal(ctx context.Context, evidence []byte, witness, reason string) error {
	_, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_Seal{
		Seal: &commandv1.Seal{Evidence: evidence, Witness: witness, Reason: reason},
	}})
	return err
}

// witness returns the reason for which a member that a leader contradicted issues nothing; nil for other members.
func (m *Member) witness() error {
	if err := m.node.Contradiction(); err != nil {
		return fmt.Errorf("%w: %s", allocator.ErrContradicted, err.Error()) // wraps one error, which stopOrResume compares
	}
	return nil
}

// setBack returns the reason for which a sealed cluster issues nothing.
func (m *Member) setBack() error {
	return fmt.Errorf("%w: %s", allocator.ErrSetBack, m.fsm.Sealed().GetReason())
}
