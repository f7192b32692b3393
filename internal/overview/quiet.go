package overview

import (
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// gossipTime is the time after which gossip has noticed that a process is gone. Until then, that gossip reaches a member
// proves nothing.
const gossipTime = 30 * time.Second

// quiet is how a member does not answer; zero while it answers.
type quiet struct {
	since   int64 // when the first request without an answer was sent, on the monotonic clock in ms
	refused bool  // the last request was refused a connection: no process listens at the member's address
}

// note takes the outcome of a request without an answer.
func (q *quiet) note(sent int64, refused bool) {
	if q.since == 0 {
		q.since = max(sent, 1)
	}
	q.refused = refused
}

// heard reports whether gossip reaches a member that has not answered for long enough.
func (q quiet) heard(m *snowraftv1.Member, now int64) bool {
	return m.GetAlive() && q.since > 0 && now-q.since >= gossipTime.Milliseconds()
}

// down reports whether a member does not run, as far as its address and gossip show.
func (q quiet) down(m *snowraftv1.Member, now int64) bool { return q.refused && !q.heard(m, now) }

// text says that a member does not answer the one that composes the overview. Of a member that refuses no connections, that it
// is down is more than the process can know.
func (q quiet) text(m *snowraftv1.Member, asker string, now int64) string {
	at := m.GetApiAddress()
	switch {
	case at == "":
		return "does not answer " + asker + ", which does not know its API address"
	case q.down(m, now):
		return "is down: " + at + " refuses connections"
	case q.refused:
		return "refuses connections at " + at + ", although gossip reaches it"
	case q.heard(m, now):
		return "does not answer " + asker + " at " + at + ", although gossip reaches it"
	default:
		return "does not answer " + asker + " at " + at
	}
}
