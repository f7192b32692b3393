package overview

import (
	"errors"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// gossipTime is the time after which gossip has noticed that a process is gone. Before that, gossip contact with a member
// proves nothing.
const gossipTime = 30 * time.Second

// quiet describes the silence of a member. It is zero while the member answers.
type quiet struct {
	since int64 // send time of the first unanswered request, on the monotonic clock in ms
	// The last request showed refused if no process listens at the member's address, and replaced if another member does.
	refused, replaced bool
}

// after returns the state after another request, which was sent at the given time and failed.
func (q quiet) after(sent int64, err error) quiet {
	if q.since == 0 {
		q.since = max(sent, 1)
	}
	q.refused, q.replaced = errors.Is(err, ErrRefused), errors.Is(err, ErrReplaced)
	return q
}

// heard reports whether gossip still reaches a member that has not answered for at least gossipTime.
func (q quiet) heard(m *snowraftv1.Member, now int64) bool {
	return m.GetAlive() && q.since > 0 && now-q.since >= gossipTime.Milliseconds()
}

// down reports whether a member is down, as far as its address, gossip and the member itself show.
func (q quiet) down(m *snowraftv1.Member, now int64) bool {
	return m.GetHalted() || (q.refused || q.replaced) && !q.heard(m, now)
}

// show writes the silence of a member as a problem. The member asker composes the overview. For a member that does not refuse
// connections, the process cannot know that the member is down.
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
	case v.GetDown() && q.replaced:
		v.Problem = "is not at " + at + ", where another member answers"
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
