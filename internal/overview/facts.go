package overview

import (
	"slices"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// evidence holds the facts for the verdict on an overview, apart from its members. The keys of its maps are member IDs.
type evidence struct {
	own        *snowraftv1.GetStatusResponse            // status of the composing member
	statuses   map[string]*snowraftv1.GetStatusResponse // statuses of the members that answer, including the composing member
	replaced   map[string]bool                          // another member answers at the member's address
	older      map[string]bool                          // the status is from before the composing member lost its leader
	leaderless time.Duration                            // time since the composing member lost its leader; 0 if it has one
	led        string                                   // ID of the last leader known to the composing member; empty if none
}

// facts is an overview with derived facts.
type facts struct {
	*snowraftv1.Overview
	evidence

	issuing []*snowraftv1.MemberView // answer and issue IDs
	refuse  []*snowraftv1.MemberView // answer and issue no IDs
	silent  []*snowraftv1.MemberView // do not answer
	stalled []*snowraftv1.MemberView // answer, vote, and do not replicate
	voters  int
	needed  int                    // number of voters for a quorum
	leads   *snowraftv1.MemberView // nil if no answering leader is known
	until   int64                  // time until which every issuing member continues without quorum, Unix ms; 0 if unknown

	// The following fields are set by leadership, whose finding reports the same facts.
	outage bool   // too few voters answer
	stuck  bool   // no member that answers reaches a leader, and no election explains that
	fallen string // ID of a leader that does not answer
}

func (f *facts) sort() {
	alive := 0
	for _, m := range f.GetMembers() {
		if m.GetMember().GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_VOTER {
			f.voters++
			switch {
			case !m.GetAnswers() || !m.GetMember().GetAlive():
			case m.GetMember().GetStalled():
				f.stalled = append(f.stalled, m)
			default:
				alive++
			}
		}
		switch {
		case !m.GetAnswers():
			f.silent = append(f.silent, m)
		case m.GetProblem() != "":
			f.refuse = append(f.refuse, m)
		default:
			f.issuing = append(f.issuing, m)
			if until := m.GetServesUntilAtMs(); until > 0 && (f.until == 0 || until < f.until) {
				f.until = until
			}
		}
	}
	f.needed = f.voters/2 + 1
	if f.own.GetClusterId() != "" {
		f.Overview.Quorum = &snowraftv1.Quorum{
			Voters: uint32(f.voters), Alive: uint32(alive), MayFail: uint32(max(alive-f.needed, 0)), //nolint:gosec // 0 to 100
		}
	}
	f.findLeader()
}

// findLeader finds the leader of the latest term. The leader is the one known to the composing member, or a member whose own
// status says that it leads. It ignores what a member's status says about another leader, because that may be older. It also
// ignores a status from before the composing member lost its leader, unless the status has a later term.
func (f *facts) findLeader() {
	by := f.own
	for id, s := range f.statuses {
		over := f.older[id] && s.GetTerm() <= f.own.GetTerm()
		if s.GetLeaderId() == s.GetMemberId() && !over && (by.GetLeaderId() == "" || s.GetTerm() > by.GetTerm()) {
			by = s
		}
	}
	f.LeaderId, f.LeaderName, f.Term = by.GetLeaderId(), by.GetLeaderName(), max(by.GetTerm(), f.own.GetTerm())
	i := slices.IndexFunc(f.GetMembers(), func(m *snowraftv1.MemberView) bool { return m.GetMember().GetId() == f.LeaderId })
	for _, m := range f.GetMembers() {
		m.Member.Leader = f.LeaderId != "" && m.GetMember().GetId() == f.LeaderId
	}
	if i >= 0 && f.GetMembers()[i].GetAnswers() {
		f.leads = f.GetMembers()[i]
	}
}

// reached returns the number of voters that answer.
func (f *facts) reached() (n int) {
	for _, m := range f.GetMembers() {
		if m.GetAnswers() && m.GetMember().GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_VOTER {
			n++
		}
	}
	return n
}
