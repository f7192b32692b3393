package member

import (
	"errors"
	"testing"
)

// Requests for names that do not exist keep the leader busy with at most maxAsking calls at once. Further ones
// wait a little, and existing names are found meanwhile.
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
