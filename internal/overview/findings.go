package overview

import (
	"fmt"
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// finding is a Finding and its relation to other findings.
type finding struct {
	*snowraftv1.Finding
	mentioned bool // a worse finding reports the same problem; the sentence does not count it again
}

// findings returns all findings. Among findings of equal level, those about the whole cluster come first.
func (f *facts) findings() (all []finding) {
	if f.own.GetClusterId() == "" {
		return []finding{f.notJoined()}
	}
	all = append(all, f.leadership()...)
	all = append(all, f.restoration()...)
	all = append(all, f.youngerCluster()...)
	all = append(all, f.suspicion()...)
	all = append(all, f.refusals()...)
	for _, m := range f.silent {
		all = append(all, f.quietMember(m))
	}
	for _, m := range f.stalled {
		name := m.GetMember().GetName()
		all = append(all, of(warning, name+" takes no entries of the log from the leader, and counts as failed", "read the log of "+name, runbookFollower).about(name))
	}
	all = append(all, f.tolerance()...)
	all = append(all, f.clocks()...)
	all = append(all, f.layouts()...)
	all = append(all, f.foreign()...)
	all = append(all, f.moved()...)
	all = append(all, f.secrets()...)
	all = append(all, f.certificates()...)
	all = append(all, f.upgrade()...)
	return all
}

func of(level snowraftv1.VerdictLevel, text, action, runbook string) finding {
	return finding{Finding: &snowraftv1.Finding{Level: level, Text: text, Action: action, Runbook: runbook}}
}

// about sets the member that a finding is about.
func (f finding) about(name string) finding {
	f.Member = name
	return f
}

// by sets the command of a finding.
func (f finding) by(command string) finding {
	f.Command = command
	return f
}

func (f *facts) notJoined() finding {
	name := f.own.GetName()
	why := strings.TrimPrefix(f.own.GetNoLeader(), "this member is not part of a cluster: ")
	return of(bad, fmt.Sprintf("%s has not joined a cluster: %s", name, why),
		"", runbookWaits).about(name)
}

// tolerance returns findings about a healthy cluster that tolerates no failure.
func (f *facts) tolerance() []finding {
	if voters := f.GetQuorum().GetVoters(); len(f.GetMembers()) > 1 && voters < 3 && f.leads != nil {
		return []finding{of(warning, fmt.Sprintf("with %s, the cluster tolerates no failure", count(int(voters), "voter")), "add members until there are 3 voters", runbookTooFew)}
	}
	return nil
}

// quietMember returns the finding about a member that does not answer.
func (f *facts) quietMember(m *snowraftv1.MemberView) finding {
	name := m.GetMember().GetName()
	found := of(warning, name+" "+m.GetProblem(), fmt.Sprintf("start %s, or remove it if it is lost permanently", name), runbookDoesNotStart).
		by("snowraft member list") // the table of members has the command to remove the member, which is rarely right
	switch {
	case m.GetMember().GetHalted():
		found.Action = fmt.Sprintf("read the log of %s, and start it again when the cause is gone", name)
	case f.branched():
		found.Action = "back up the data directory of " + name + " too"
	case f.replaced[m.GetMember().GetId()] && f.outage:
		found.Action, found.Runbook = fmt.Sprintf("start %s with the data directory that it had", name), runbookLost
	case f.replaced[m.GetMember().GetId()]:
		found.Action = fmt.Sprintf("start %s with the data directory that it had, or remove it if that is lost", name)
	case f.outage && (m.GetDown() || !m.GetMember().GetAlive()):
		found.Action = "start " + name // no member can be removed now
	case m.GetMember().GetAlive() && !m.GetDown():
		found = of(warning, name+" "+m.GetProblem(), fmt.Sprintf("check the process of %s, and the network from %s to it", name, f.own.GetName()), runbookCutOff)
	}
	found.mentioned = f.outage || f.branched() || m.GetMember().GetId() == f.fallen
	return found.about(name)
}
