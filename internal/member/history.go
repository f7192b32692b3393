package member

import (
	"context"
	"io"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/position"
)

// history implements [cluster.History] with the member's replica.
type history struct{ m *Member }

// Position implements [cluster.History].
func (h history) Position() position.Position { return h.m.fsm.Position() }

// Judge implements [cluster.History].
func (h history) Judge(p position.Position) (setBack bool, why string) {
	return contradicts(h.m.fsm, p)
}

// JudgeSnapshot implements [cluster.History]. It keeps the whole state of the snapshot in memory, next to the replica's.
func (h history) JudgeSnapshot(snapshot io.Reader, p position.Position) (setBack bool, why string) {
	inside := fsm.New(fsm.Options{Supported: h.m.cfg.Supported})
	if inside.Restore(io.NopCloser(snapshot)) != nil {
		return false, ""
	}
	return contradicts(inside, p)
}

func contradicts(of *fsm.Machine, p position.Position) (bool, string) {
	verdict, why := of.Judge(p)
	return verdict == fsm.SetBack || verdict == fsm.Missing, why
}

// Seal implements [cluster.History].
func (h history) Seal(ctx context.Context, evidence position.Position, witness, why string) error {
	return h.m.Seal(ctx, evidence.Append(nil), witness, why)
}

// Sealed implements [cluster.History].
func (h history) Sealed() bool { return h.m.fsm.Sealed() != nil }
