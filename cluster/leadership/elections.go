package leadership

import (
	"maps"
	"sync"
)

// Cause is the reason for an election.
type Cause string

const (
	// Timeout means silence: no leader was heard for a heartbeat timeout.
	Timeout Cause = "timeout"
	// Transfer means that the leader transferred leadership.
	Transfer Cause = "transfer"
	// Refused means that the process of the leader stopped, see succession.
	Refused Cause = "refused"
	// Start means that no other leader is possible: this node started the cluster, or is its only member.
	Start Cause = "start"
)

// Elections counts the elections that this node won.
type Elections struct {
	mu    sync.Mutex
	term  uint64 // term of the last election that did not begin because of a timeout
	cause Cause  // cause of that election
	won   map[Cause]uint64
}

// Expect records that an election begins in a term for another cause than a timeout.
func (e *Elections) Expect(term uint64, cause Cause) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term, e.cause = term, cause
}

// CountWin counts an election and returns its cause.
func (e *Elections) CountWin(term uint64) (cause Cause) {
	e.mu.Lock()
	defer e.mu.Unlock()
	cause = Timeout
	if term == e.term {
		cause = e.cause
	}
	if e.won == nil {
		e.won = make(map[Cause]uint64)
	}
	e.won[cause]++
	return cause
}

// Because returns the cause in words, for the end of an event's text.
func (c Cause) Because() string {
	switch c {
	case Transfer:
		return "the last leader transferred leadership"
	case Refused:
		return "the process of the last leader exited"
	default:
		return "no leader was heard"
	}
}

// Counts returns the number of won elections by cause. Each cause is present.
func (e *Elections) Counts() map[Cause]uint64 {
	all := map[Cause]uint64{Timeout: 0, Transfer: 0, Refused: 0, Start: 0}
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.Copy(all, e.won)
	return all
}
