package overview

import (
	"fmt"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// findings lists what is wrong, the cluster before its members.
func (f *facts) findings() (all []*snowraftv1.Finding) {
	if f.own.GetClusterId() == "" {
		return []*snowraftv1.Finding{f.notJoined()}
	}
	if leader := f.leadership(); leader != nil {
		all = append(all, leader)
	}
	for _, m := range f.refuse {
		all = append(all, refusal(m))
	}
	for _, m := range f.silent {
		all = append(all, f.silence(m))
	}
	return all
}

func (f *facts) notJoined() *snowraftv1.Finding {
	return &snowraftv1.Finding{
		Level: bad, Member: f.own.GetName(), Text: f.own.GetName() + " has not joined a cluster",
		Action: "start the members that it waits for, or correct its --join addresses", Runbook: "member-waits-for-others",
	}
}

// leadership says why there is no leader; nil if one is known that answers.
func (f *facts) leadership() *snowraftv1.Finding {
	self := f.own.GetName()
	switch {
	case f.leads != nil && !f.leaderless():
		return nil
	case f.leads != nil:
		return &snowraftv1.Finding{
			Level: warning, Member: self, Text: fmt.Sprintf("%s reaches no leader, although %s leads", self, f.leads.GetMember().GetName()),
			Action: "check the Raft port between the two", Runbook: "member-cut-off",
		}
	case f.reached() < f.needed && f.reached() <= 1 && f.needed > 1:
		return &snowraftv1.Finding{
			Level: bad, Text: fmt.Sprintf("%s is cut off or quorum is lost: %s", self, f.notAnswering()),
			Action:  fmt.Sprintf("start %s, or restore the network between them and %s", list(names(f.silent)), self),
			Runbook: "lost-majority",
		}
	case f.reached() < f.needed:
		return &snowraftv1.Finding{
			Level: bad, Text: "quorum is lost: " + f.notAnswering(),
			Action: "start " + list(names(f.silent)), Runbook: "lost-majority",
		}
	case f.LeaderId != "":
		return &snowraftv1.Finding{
			Level: warning, Text: fmt.Sprintf("the last known leader, %s, does not answer %s", f.LeaderName, self),
			Action: "wait for the election of another leader", Runbook: "no-leader",
		}
	default:
		return &snowraftv1.Finding{
			Level: warning, Text: "no leader is known: an election is in progress",
			Action: "wait some seconds for it", Runbook: "no-leader",
		}
	}
}

func (f *facts) notAnswering() string {
	verb := "do"
	if len(f.silent) == 1 {
		verb = "does"
	}
	return fmt.Sprintf("%s %s not answer %s", list(names(f.silent)), verb, f.own.GetName())
}

// refusal is about a member that answers and issues no IDs.
func refusal(m *snowraftv1.MemberView) *snowraftv1.Finding {
	return &snowraftv1.Finding{
		Level: warning, Member: m.GetMember().GetName(),
		Text: fmt.Sprintf("%s issues no IDs: %s", m.GetMember().GetName(), m.GetProblem()),
	}
}

// silence is about a member that does not answer.
func (f *facts) silence(m *snowraftv1.MemberView) *snowraftv1.Finding {
	name := m.GetMember().GetName()
	finding := &snowraftv1.Finding{
		Level: warning, Member: name, Text: name + " " + m.GetProblem(),
		Action: "start " + name + ", or remove it from the cluster", Command: "snowraft member remove " + name,
		Runbook: "a-member-does-not-start",
	}
	if m.GetMember().GetAlive() {
		finding.Action, finding.Command = fmt.Sprintf("check its process, and the network from %s to %s", f.own.GetName(), m.GetMember().GetApiAddress()), ""
		finding.Runbook = "member-cut-off"
	}
	return finding
}
