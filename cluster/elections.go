package cluster

import (
	"maps"
	"sync"
)

// ElectionCause is the reason for an election.
type ElectionCause string

const (
	// ElectionTimeout means silence: no leader was heard for a heartbeat timeout.
	ElectionTimeout ElectionCause = "timeout"
	// ElectionTransfer means that the leader transferred leadership.
	ElectionTransfer ElectionCause = "transfer"
	// ElectionRefused means that the process of the leader stopped, see succession.
	ElectionRefused ElectionCause = "refused"
	// ElectionStart means that no other leader is possible: this node started the cluster, or is its only member.
	ElectionStart ElectionCause = "start"
)

// elections counts the elections that this node won.
type elections struct {
	mu    sync.Mutex
	term  uint64        // term of the last election that did not begin because of a timeout
	cause ElectionCause // cause of that election
	won   map[ElectionCause]uint64
}

// expect records that an election begins in a term for another cause than a timeout.
func (e *elections) expect(term uint64, cause ElectionCause) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term, e.cause = term, cause
}

// win counts an election and returns its cause.
func (e *elections) win(term uint64) (cause ElectionCause) {
	e.mu.Lock()
	defer e.mu.Unlock()
	cause = ElectionTimeout
	if term == e.term {
		cause = e.cause
	}
	if e.won == nil {
		e.won = make(map[ElectionCause]uint64)
	}
	e.won[cause]++
	return cause
}

// because returns the cause in words, for the end of an event's text.
func (c ElectionCause) because() string {
	switch c {
	case ElectionTransfer:
		return "the last leader transferred leadership"
	case ElectionRefused:
		return "the process of the last leader exited"
	default:
		return "no leader was heard"
	}
}

// ElectionsWon returns the number of elections that this node won since it started, by cause. Each cause is present.
func (n *Node) ElectionsWon() map[ElectionCause]uint64 {
	all := map[ElectionCause]uint64{ElectionTimeout: 0, ElectionTransfer: 0, ElectionRefused: 0, ElectionStart: 0}
	n.elections.mu.Lock()
	defer n.elections.mu.Unlock()
	maps.Copy(all, n.elections.won)
	return all
}
