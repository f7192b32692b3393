package overview

import (
	"fmt"
	"time"
)

// electionTime is the time after which an election is no longer the reason why there is no leader.
const electionTime = 5 * time.Second

// leadership says why there is no leader that answers; nothing if there is one.
func (f *facts) leadership() []finding {
	self := f.own.GetName()
	switch lost := f.reached() < f.needed; {
	case f.leads != nil && f.own.GetLeaderId() != "":
		return nil
	case f.leads != nil:
		return []finding{of(warning, fmt.Sprintf("%s reaches no leader, although %s leads", self, f.leads.GetMember().GetName()),
			"check the Raft port between them", runbookCutOff).about(self)}
	case f.own.GetLeaderId() != "": // over the Raft port; or for a moment, until the member notices
		return []finding{of(warning, fmt.Sprintf("the leader, %s, does not answer %s", f.LeaderName, self),
			"check its process, and the network to its API port", runbookCutOff).about(f.LeaderName)}
	case lost && f.reached() <= 1 && f.needed > 1:
		f.outage = true
		return []finding{of(bad, fmt.Sprintf("quorum is lost, or %s is cut off from it: %s", self, f.unanswered()),
			fmt.Sprintf("start %s, or restore the network to %s; do not restart %s", list(names(f.silent)), self, self), runbookCutOff)}
	case lost:
		f.outage = true
		return []finding{of(bad, "quorum is lost: "+f.unanswered(),
			fmt.Sprintf("start %s; do not restart the others", list(names(f.silent))), runbookNoLeader)}
	case f.leaderless > electionTime:
		return []finding{of(bad, fmt.Sprintf("no leader for %s, although %d of %s answer", span(f.leaderless), f.reached(), count(f.voters, "voter")),
			"check the Raft ports between the members, and their clocks", runbookNoLeader)}
	default:
		return []finding{of(warning, "no leader: an election is in progress", "wait some seconds", runbookNoLeader)}
	}
}

// unanswered says which members do not answer.
func (f *facts) unanswered() string {
	if len(f.silent) == 0 {
		return "voters are missing"
	}
	verb := "do"
	if len(f.silent) == 1 {
		verb = "does"
	}
	return fmt.Sprintf("%s %s not answer %s", list(names(f.silent)), verb, f.own.GetName())
}
