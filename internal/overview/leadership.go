package overview

import (
	"fmt"
	"slices"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// electionTime is the time after which an election no longer explains a missing leader.
const electionTime = 5 * time.Second

// hearingTime is the time within which a member learns of a leader that another member already knows.
const hearingTime = 1500 * time.Millisecond

// leadership returns a finding if no leader answers, or if the composing member reaches no leader although one leads; nil
// otherwise, and if no leader can be elected because histories differ.
func (f *facts) leadership() []finding {
	if f.branched() || f.leads != nil && (f.own.GetLeaderId() != "" || f.leaderless < hearingTime) {
		return nil
	}
	self, last := f.own.GetName(), f.lastLeader()
	ended := last.GetDown()
	lost := f.reached() < f.needed
	switch {
	case f.leads != nil:
		return []finding{of(warning, fmt.Sprintf("%s reaches no leader, although %s leads", self, f.leads.GetMember().GetName()),
			"check the Raft port between them", runbookCutOff).about(self)}
	case lost && f.allDown():
		f.outage, f.stuck = true, true
		return f.lostWith(of(bad, "quorum is lost: "+f.unanswered(), fmt.Sprintf("%s; do not restart %s", f.revival(), f.others()), runbookNoLeader))
	case f.own.GetLeaderId() != "" && ended: // until the member notices
		f.fallen = f.led
		return []finding{of(warning, fmt.Sprintf("the leader, %s, %s", f.LeaderName, last.GetProblem()), "wait some seconds for the election of another leader", runbookNoLeader).about(f.LeaderName)}
	case f.own.GetLeaderId() != "": // not over the Raft port, or only until the member notices
		f.fallen = f.LeaderId
		return []finding{of(warning, fmt.Sprintf("the leader, %s, does not answer %s", f.LeaderName, self),
			"check its process, and the network to its API port", runbookCutOff).about(f.LeaderName)}
	case lost && f.reached() <= 1 && f.needed > 1:
		f.outage, f.stuck = true, true
		return f.lostWith(of(bad, fmt.Sprintf("quorum is lost, or %s is cut off from it: %s", self, f.unanswered()),
			fmt.Sprintf("%s, or restore the network to %s; do not restart %s", f.revival(), self, self), runbookCutOff))
	case lost:
		f.outage, f.stuck = true, true
		return f.lostWith(of(bad, "quorum is lost: "+f.unanswered(),
			fmt.Sprintf("%s; do not restart %s", f.revival(), f.others()), runbookNoLeader))
	case f.leaderless > electionTime:
		f.stuck = true
		return []finding{of(bad, fmt.Sprintf("no leader since %s, although %d of %s answer", f.leaderlessSince(), f.reached(), count(f.voters, "voter")),
			"check the Raft ports between the members, and their clocks", runbookNoLeader)}
	case ended:
		f.fallen = f.led
		return []finding{of(warning, fmt.Sprintf("no leader, because %s is down: an election is in progress", last.GetMember().GetName()), "wait some seconds", runbookNoLeader)}
	default:
		return []finding{of(warning, "no leader: an election is in progress", "wait some seconds", runbookNoLeader)}
	}
}

// leaderlessSince returns the time at which the composing member lost its leader, for people.
func (f *facts) leaderlessSince() string {
	return clockTime(f.GetComposedAtMs()-f.leaderless.Milliseconds(), f.GetComposedAtMs())
}

// lastLeader returns the last leader known to the composing member, if it is still a member; nil otherwise.
func (f *facts) lastLeader() *snowraftv1.MemberView {
	i := slices.IndexFunc(f.GetMembers(), func(m *snowraftv1.MemberView) bool { return f.led != "" && m.GetMember().GetId() == f.led })
	if i < 0 {
		return nil
	}
	return f.GetMembers()[i]
}

// allDown reports whether some members do not answer and all of these are down.
func (f *facts) allDown() bool {
	return len(f.silent) > 0 && !slices.ContainsFunc(f.silent, func(m *snowraftv1.MemberView) bool { return !m.GetDown() })
}

// others returns the names of the members that answer, for a sentence.
func (f *facts) others() string {
	if f.reached() <= 1 {
		return f.own.GetName()
	}
	return "the others"
}

// unanswered returns a clause that names the members that do not answer.
func (f *facts) unanswered() string {
	who, n := list(names(f.silent)), len(f.silent)
	switch {
	case n == 0:
		return "voters are missing"
	case f.allDown():
		return who + verb(n, " is", " are") + " down"
	default:
		return who + verb(n, " does", " do") + " not answer " + f.own.GetName()
	}
}

// revival returns how the members that do not answer come back.
func (f *facts) revival() string {
	start := "start " + list(names(f.silent))
	if f.emptied() {
		return start + " with the data directories that they had, or recover the cluster if most of these are lost"
	}
	return start
}

// lostWith returns a finding about a lost quorum, with the section of the runbook about lost directories if some may be lost.
func (f *facts) lostWith(found finding) []finding {
	if f.emptied() {
		found.Runbook = runbookLost
	}
	return []finding{found}
}

// emptied reports whether another member answers at the address of one that does not answer, perhaps because that one's data
// directory is lost.
func (f *facts) emptied() bool {
	return slices.ContainsFunc(f.silent, func(m *snowraftv1.MemberView) bool { return f.replaced[m.GetMember().GetId()] })
}
