package member

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/cluster"
)

// GenerationError says that something does not have the generation that the caller expects. Nothing was done.
type GenerationError struct {
	What              string
	Expected, Present uint64
}

func (e *GenerationError) Error() string {
	return fmt.Sprintf("%s has generation %d, not the expected %d; read it again before you repeat the change", e.What, e.Present, e.Expected)
}

// expect returns what find finds, if that has the generation that the caller expects; nil expects none. Only the leader
// says that it does not, after it has applied what the caller may have read from another replica.
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
	_ = m.fsm.AwaitApplied(bounded, *expected) // it never is if no command has that index
	if found, generation, err = find(); err == nil {
		err = lt.confirm(ctx)
	}
	if err == nil && generation != *expected {
		err = &GenerationError{What: what, Expected: *expected, Present: generation}
	}
	return found, err
}
