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

// after returns how a member does not answer after another request, which was sent at that time.
func (q quiet) after(sent int64, refused bool) quiet {
	if q.since == 0 {
		q.since = max(sent, 1)
	}
	q.refused = refused
	return q
}

// heard reports whether gossip reaches a member that has not answered for long enough.
func (q quiet) heard(m *snowraftv1.Member, now int64) bool {
	return m.GetAlive() && q.since > 0 && now-q.since >= gossipTime.Milliseconds()
}

// down reports whether a member does not run, as far as its address, gossip and the member itself show.
func (q quiet) down(m *snowraftv1.Member, now int64) bool {
	return m.GetHalted() || q.refused && !q.heard(m, now)
}

// show says how a member does not answer the one that composes the overview. Of a member that refuses no connections, that it is
// down is more than the process can know.
func (q quiet) show(v *snowraftv1.MemberView, asker string, now int64) {
	m := v.GetMember()
	if v.Down = q.down(m, now); v.GetDown() {
		v.ServesUntilAtMs = 0
	}
	at := m.GetApiAddress()
	switch {
	case m.GetHalted():
		v.Problem = "halted, because it was unsafe to continue"
	case at == "":
		v.Problem = "does not answer " + asker + ", which does not know its API address"
	case v.GetDown():
		v.Problem = "is down: " + at + " refuses connections"
	case q.refused:
		v.Problem = "refuses connections at " + at + ", although gossip reaches it"
	case q.heard(m, now):
		v.Problem = "does not answer " + asker + " at " + at + ", although gossip reaches it"
	default:
		v.Problem = "does not answer " + asker + " at " + at
	}
}
