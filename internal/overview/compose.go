package overview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// maxLayouts is the most names of layouts in an overview.
const maxLayouts = 1000

// compose makes an overview of what is known now.
func (c *collector) compose(now clock.Reading, members []*snowraftv1.Member) *snowraftv1.Overview {
	own := c.self.status
	layouts := c.hub.source.Layouts()
	o := &snowraftv1.Overview{
		ClusterId: own.GetClusterId(), ComposedBy: own.GetName(), ComposedAtMs: now.Wall,
		LeaderId: own.GetLeaderId(), LeaderName: own.GetLeaderName(), Term: own.GetTerm(),
		ObservedClockAtMs: own.GetObservedClockAtMs(),
		WaitThresholdMs:   own.GetConfig().GetWaitThresholdMs(), MaxClockOffsetMs: own.GetConfig().GetMaxClockOffsetMs(),
		Layouts: layouts[:min(len(layouts), maxLayouts)],
	}
	slices.SortFunc(members, byName)
	joined := false
	for _, m := range members {
		joined = joined || m.GetId() == own.GetMemberId()
		o.Members = append(o.Members, c.view(m, own, now))
	}
	if !joined { // not of a cluster yet, or removed
		self := &snowraftv1.Member{Id: own.GetMemberId(), Name: own.GetName(), Role: own.GetRole(), Alive: true, Version: own.GetVersion()}
		o.Members = append(o.Members, c.view(self, own, now))
	}
	judge(o, c.statuses(now), own, c.leaderless(now))
	return o
}

// leaderless returns for how long the own status has had no leader.
func (c *collector) leaderless(now clock.Reading) time.Duration {
	if c.self.status.GetLeaderId() != "" {
		c.lostLeader = 0
		return 0
	}
	if c.lostLeader == 0 {
		c.lostLeader = max(now.Mono, 1)
	}
	return time.Duration(now.Mono-c.lostLeader) * time.Millisecond
}

// view returns a member as it is known now.
func (c *collector) view(m *snowraftv1.Member, own *snowraftv1.GetStatusResponse, now clock.Reading) *snowraftv1.MemberView {
	p := &c.self
	if m.GetId() != own.GetMemberId() {
		p = c.peers[m.GetId()]
	}
	v := &snowraftv1.MemberView{Member: m}
	if p == nil || p.status == nil {
		v.Problem = silence(m, own)
		return v
	}
	s := p.status
	v.Answers, v.SeenAtMs = p.answers(now), p.seen.Wall
	v.Encrypted = len(s.GetSecretFingerprints()) > 0
	v.ClockAtMs, v.ClockOffsetMs = s.GetClockAtMs()+now.Mono-p.taken, s.GetClockOffsetMs()
	v.Lanes, v.ServesUntilAtMs, v.AppliedIndex = shown(s.GetLanes()), servesUntil(s.GetLanes()), s.GetAppliedIndex()
	m.Version = s.GetVersion()
	if !v.GetAnswers() {
		v.Problem = silence(m, own)
		return v
	}
	v.Problem, v.Reason = s.GetProblem(), s.GetReason()
	p.rates.show(v)
	return v
}

// statuses returns what the members that answer last said, by ID.
func (c *collector) statuses(now clock.Reading) map[string]*snowraftv1.GetStatusResponse {
	all := map[string]*snowraftv1.GetStatusResponse{c.self.status.GetMemberId(): c.self.status}
	for id, p := range c.peers {
		if p.answers(now) {
			all[id] = p.status
		}
	}
	return all
}

// silence says that a member does not answer. That it is down is more than the process can know.
func silence(m *snowraftv1.Member, own *snowraftv1.GetStatusResponse) string {
	text := fmt.Sprintf("does not answer %s", own.GetName())
	switch {
	case m.GetApiAddress() == "":
		return text + ", which does not know its API address"
	case m.GetAlive():
		text += " at " + m.GetApiAddress() + ", although gossip reaches it"
	default:
		text += " at " + m.GetApiAddress()
	}
	return text
}

// fingerprint returns a text that differs if something happened: clocks and rates do not count.
func fingerprint(o *snowraftv1.Overview) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %v %s", o.GetLeaderId(), o.GetTerm(), o.GetQuorum(), o.GetVerdict().GetSentence())
	for _, f := range o.GetVerdict().GetFindings() {
		fmt.Fprintf(&b, "|%s", f.GetText())
	}
	for _, m := range o.GetMembers() {
		fmt.Fprintf(&b, "|%s %d %v %v %s", m.GetMember().GetId(), m.GetMember().GetRole(), m.GetMember().GetAlive(), m.GetAnswers(), m.GetProblem())
		for _, l := range m.GetLanes() {
			fmt.Fprintf(&b, ",%d %d %d %v %s", l.GetWorker(), l.GetToken(), l.GetServeUntilAtMs(), l.GetIdle(), l.GetProblem())
		}
	}
	fmt.Fprint(&b, o.GetLayouts())
	return b.String()
}
