package member

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/cluster"
)

// GenerationError reports that a resource does not have the generation that the caller expects. Nothing was done.
type GenerationError struct {
	What              string // the resource in words, such as `sequence "orders"`
	Expected, Present uint64
}

func (e *GenerationError) Error() string {
	return fmt.Sprintf("%s has generation %d, not the expected %d; read it again before you repeat the change", e.What, e.Present, e.Expected)
}

// expect returns the result of find, if it has the expected generation; nil accepts any. Only the leader returns a
// [GenerationError], after it has applied what the caller may have read from another replica.
func expect[T any](ctx context.Context, m *Member, what string, expected *uint64, find func() (thing T, generation uint64, err error)) (T, error) {
	found, generation, err := find()
	if err != nil || expected == nil || generation == *expected {
		return found, err
	}
	lt := m.leaderTerm.Load()
	if lt == nil {
		return found, cluster.ErrNotLeader
	}
	bounded, cancel := context.WithTimeout(ctx, absenceWait)
	defer cancel()
	_ = m.fsm.AwaitApplied(bounded, *expected) // may time out, because the log may not have that index
	if found, generation, err = find(); err == nil {
		err = lt.confirm(ctx)
	}
	if err == nil && generation != *expected {
		err = &GenerationError{What: what, Expected: *expected, Present: generation}
	}
	return found, err
}
