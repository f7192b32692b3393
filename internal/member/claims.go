package member

import (
	"context"
	"log/slog"
	"strings"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/internal/position"
)

// maxWitness is the longest description of a witness in bytes.
const maxWitness = 200

// passClaim has the leader judge a claim.
func (m *Member) passClaim(ctx context.Context, p position.Position, witness string) error {
	return m.askLeader(ctx, func(ctx context.Context, l Leader) error { return l.Claim(ctx, p, witness) })
}

// settles reports whether the own replica shows that a position proves nothing: the position is of another cluster or an
// earlier life, which have another ID, or the replica confirms it, or the cluster is sealed already.
func (m *Member) settles(p position.Position) bool {
	if p.Cluster != m.node.Position().Cluster || m.fsm.Sealed() != nil {
		return true
	}
	verdict, _ := m.fsm.Judge(p)
	return verdict == fsm.Consistent
}

// Position returns how far this member knows the committed history of its cluster. ok is false if the position is no
// evidence: before the history records leaderships, and once the cluster is sealed, because clients must keep what
// contradicts it.
func (m *Member) Position() (p position.Position, ok bool) {
	p = m.node.Position()
	return p, p.Cluster != [16]byte{} && p.Nonce != [16]byte{} && m.fsm.Sealed() == nil
}

// Witness takes a position that a client proved with a receipt. The leader judges the position if it may contradict the
// history of the cluster. Witness never blocks.
func (m *Member) Witness(p position.Position, from string) { m.claims.Offer(p, from, true) }

// Claim judges a position that a witness knows to be committed, see [cluster.Node.Claim]; only the leader can. A position that
// the history cannot judge is noted.
func (m *Member) Claim(ctx context.Context, p position.Position, witness string) error {
	select {
	case m.judging <- struct{}{}:
		defer func() { <-m.judging }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if m.settles(p) {
		return nil
	}
	if err := m.node.Claim(ctx, p, strings.ToValidUTF8(witness[:min(len(witness), maxWitness)], "")); err != nil {
		return err
	}
	if verdict, _ := m.fsm.Judge(p); verdict == fsm.Unknown {
		m.events.Note(events.Process, slog.LevelWarn, "a client knows a part of the history that this cluster cannot compare with its own")
	}
	return nil
}
