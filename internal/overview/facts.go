package overview

import (
	"slices"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// evidence is what an overview is judged by, apart from its members. Its maps are by the ID of a member.
type evidence struct {
	own        *snowraftv1.GetStatusResponse            // of the composing member
	statuses   map[string]*snowraftv1.GetStatusResponse // of the members that answer, itself included
	older      map[string]bool                          // the status is from before the composing member lost its leader
	leaderless time.Duration                            // since the composing member knew a leader; 0 if it knows one
	led        string                                   // ID of the last leader that the composing member knew; empty if none
}

// facts is an overview and what follows from it.
type facts struct {
	*snowraftv1.Overview
	evidence

	issuing []*snowraftv1.MemberView // answer, and issue IDs
	refuse  []*snowraftv1.MemberView // answer, and issue none
	silent  []*snowraftv1.MemberView // do not answer
	voters  int
	needed  int                    // voters that make a quorum
	leads   *snowraftv1.MemberView // nil: no leader that answers is known
	until   int64                  // every issuing member continues until then without quorum, Unix ms; 0 if unknown

	// Set by leadership, whose finding says so too.
	outage bool   // too few voters answer
	fallen string // ID of a leader that does not answer
}

func (f *facts) sort() {
	alive := 0
	for _, m := range f.GetMembers() {
		if m.GetMember().GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_VOTER {
			f.voters++
			if m.GetAnswers() && m.GetMember().GetAlive() {
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

// findLeader finds the leader of the latest term: the one that the composing member knows, or a member that says that it
// leads itself. What others know may be older, and what that member said before the composing member lost its leader may be
// over.
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
