package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// compose returns an overview of the present state.
func (c *collector) compose(now clock.Reading, members []*snowraftv1.Member) *snowraftv1.Overview {
	own := c.self.status
	o := &snowraftv1.Overview{
		ClusterId: own.GetClusterId(), ComposedBy: own.GetName(), ComposedAtMs: c.at(now.Mono),
		LeaderId: own.GetLeaderId(), LeaderName: own.GetLeaderName(), Term: own.GetTerm(),
		ObservedClockAtMs: own.GetObservedClockAtMs(),
		WaitThresholdMs:   own.GetConfig().GetWaitThresholdMs(), MaxClockOffsetMs: own.GetConfig().GetMaxClockOffsetMs(),
	}
	for _, m := range members {
		m.Name = cmp.Or(m.GetName(), m.GetId()) // a member that was not heard since the start of this process has no known name
	}
	slices.SortFunc(members, byName)
	joined := false
	for _, m := range members {
		joined = joined || m.GetId() == own.GetMemberId()
		o.Members = append(o.Members, c.view(m, own, now))
	}
	if !joined { // not joined yet, or removed
		self := &snowraftv1.Member{Id: own.GetMemberId(), Name: own.GetName(), Role: own.GetRole(), Alive: true, Version: own.GetVersion()}
		o.Members = append(o.Members, c.view(self, own, now))
	}
	setVerdict(o, c.evidence(now, members))
	return o
}

// at converts a time on the monotonic clock to the time of the majority's clocks, in Unix ms. The own clock may be off, and the
// ends of windows are judged by this time.
func (c *collector) at(mono int64) int64 {
	own := c.self.status
	return own.GetClockAtMs() - own.GetClockOffsetMs() + mono - c.self.taken
}

// leaderless returns the time since which the own status has had no leader; 0 if it has one.
func (c *collector) leaderless(now clock.Reading) time.Duration {
	if id := c.self.status.GetLeaderId(); id != "" {
		c.lostLeader, c.led = 0, id
		return 0
	}
	if c.lostLeader == 0 {
		c.lostLeader = max(now.Mono, 1)
	}
	return time.Duration(now.Mono-c.lostLeader) * time.Millisecond
}

// view returns the present view of a member.
func (c *collector) view(m *snowraftv1.Member, own *snowraftv1.GetStatusResponse, now clock.Reading) *snowraftv1.MemberView {
	p := &c.self
	if m.GetId() != own.GetMemberId() {
		p = c.peers[m.GetId()]
	}
	v := &snowraftv1.MemberView{Member: m}
	if p == nil || p.status == nil {
		c.describeQuiet(v, own, now)
		return v
	}
	s := p.status
	v.Answers, v.SeenAtMs = p.answers(now), c.at(p.seen.Mono)
	v.Encrypted = len(s.GetSecretFingerprints()) > 0
	v.ClockAtMs, v.ClockOffsetMs = s.GetClockAtMs()+now.Mono-p.taken, s.GetClockOffsetMs()
	v.Lanes, v.ServesUntilAtMs, v.AppliedIndex = shown(s.GetLanes()), servesUntil(s.GetLanes()), s.GetAppliedIndex()
	m.Version = s.GetVersion()
	if !v.GetAnswers() {
		c.describeQuiet(v, own, now)
		return v
	}
	v.Problem, v.Reason = s.GetProblem(), s.GetReason()
	p.rates.show(v)
	return v
}

// evidence returns the facts for the verdict on an overview.
func (c *collector) evidence(now clock.Reading, members []*snowraftv1.Member) evidence {
	own := c.self.status
	e := evidence{
		own: own, leaderless: c.leaderless(now), led: c.led,
		statuses: map[string]*snowraftv1.GetStatusResponse{own.GetMemberId(): own},
		older:    make(map[string]bool), replaced: make(map[string]bool),
	}
	for _, m := range members {
		if p := c.peers[m.GetId()]; p != nil && p.answers(now) {
			e.statuses[m.GetId()] = p.status
			e.older[m.GetId()] = e.leaderless > 0 && p.taken < c.lostLeader
		} else if p != nil {
			e.replaced[m.GetId()] = p.quiet.replaced
		}
	}
	return e
}

// describeQuiet writes the problem of a member that does not answer.
func (c *collector) describeQuiet(v *snowraftv1.MemberView, own *snowraftv1.GetStatusResponse, now clock.Reading) {
	q := quiet{}
	if p := c.peers[v.GetMember().GetId()]; p != nil {
		q = p.quiet
	}
	q.show(v, own.GetName(), now.Mono)
}

// fingerprint returns a text that changes with every relevant change. Clocks and rates are not part of it.
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
	return b.String()
}
