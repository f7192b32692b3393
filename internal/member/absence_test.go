package member

import (
	"errors"
	"testing"
)

// Whoever requests names that do not exist keeps the leader busy with so many at once; others of them
// wait a little, and what exists is found meanwhile.
func TestAbsenceIsAskedForInTurn(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	for range maxAsking {
		m.asking <- struct{}{}
	}
	_, err := m.Sequence(t.Context(), "none")
	if _, unsettled := errors.AsType[*UnsettledError](err); !unsettled || !errors.Is(err, ErrNoLeader) {
		t.Errorf("there was no turn: %v", err)
	}
	if _, err := m.Sequence(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	<-m.asking
	for range 2 { // the turn is returned
		_, err = m.Sequence(t.Context(), "none")
		if _, unknown := errors.AsType[*UnknownSequenceError](err); !unknown {
			t.Errorf("there was a turn: %v", err)
		}
	}
}
