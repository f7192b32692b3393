package overview

import (
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// scene is a healthy cluster as member a sees it at noon: a, b and c are voters, and b leads.
type scene struct {
	o        *snowraftv1.Overview
	statuses map[string]*snowraftv1.GetStatusResponse // statuses by name, which is also the ID
	own      *snowraftv1.GetStatusResponse
	without  time.Duration // time without a leader
	led      string        // last leader known to a
	replaced map[string]bool
	older    map[string]bool
}

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC).UnixMilli()

func newScene(members ...string) *scene {
	s := &scene{o: &snowraftv1.Overview{
		ClusterId: "id", ComposedBy: members[0], ComposedAtMs: noon, ObservedClockAtMs: noon, WaitThresholdMs: 1000, MaxClockOffsetMs: 500,
	}, statuses: map[string]*snowraftv1.GetStatusResponse{}, replaced: map[string]bool{}, older: map[string]bool{}}
	for _, name := range members {
		s.add(name, snowraftv1.MemberRole_MEMBER_ROLE_VOTER)
	}
	s.own = s.statuses[members[0]]
	s.leader(members[min(1, len(members)-1)])
	return s
}

func (s *scene) add(name string, role snowraftv1.MemberRole) {
	lanes := []*snowraftv1.Lane{{Layout: "default", Token: 7, ServeUntilAtMs: noon + 870_000}}
	s.o.Members = append(s.o.Members, &snowraftv1.MemberView{
		Member:  &snowraftv1.Member{Id: name, Name: name, Role: role, Alive: true, ApiAddress: name + ":7700", Version: "v1"},
		Answers: true, SeenAtMs: noon, ClockAtMs: noon, Lanes: lanes, ServesUntilAtMs: noon + 870_000,
	})
	s.statuses[name] = &snowraftv1.GetStatusResponse{ClusterId: "id", MemberId: name, Name: name, Term: 3, Version: "v1", Lanes: lanes}
}

// leader sets the leader that the given members know, or that all members know if none are given.
func (s *scene) leader(name string, known ...string) {
	if name != "" {
		s.led = name
	}
	for id, status := range s.statuses {
		if status.LeaderId, status.LeaderName = name, name; len(known) > 0 {
			status.LeaderId, status.LeaderName = "", ""
		}
		for _, k := range known {
			if id == k {
				status.LeaderId, status.LeaderName = name, name
			}
		}
	}
}

func (s *scene) view(name string) *snowraftv1.MemberView {
	for _, m := range s.o.GetMembers() {
		if m.GetMember().GetName() == name {
			return m
		}
	}
	return nil
}

// silence makes members stop answering. Gossip still reaches them if alive is true.
func (s *scene) silence(alive bool, members ...string) { s.quiet(quiet{}, alive, members...) }

// kill makes members refuse connections. Gossip has not noticed it yet.
func (s *scene) kill(members ...string) { s.quiet(quiet{since: 1, refused: true}, true, members...) }

// replace makes other members answer at the addresses of members.
func (s *scene) replace(members ...string) {
	s.quiet(quiet{since: 1, replaced: true}, true, members...)
	for _, name := range members {
		s.replaced[name] = true
	}
}

// sceneMono is the time of a scene on the monotonic clock, in ms.
const sceneMono = 60_000

func (s *scene) quiet(q quiet, alive bool, members ...string) {
	if q.since == 1 {
		q.since = sceneMono - 1000
	}
	for _, name := range members {
		delete(s.statuses, name)
		m := s.view(name)
		m.Answers, m.Member.Alive = false, alive
		q.show(m, s.own.GetName(), sceneMono)
	}
}

func (s *scene) judge() {
	setVerdict(s.o, evidence{own: s.own, statuses: s.statuses, replaced: s.replaced, older: s.older, leaderless: s.without, led: s.led})
}

// refuse makes a member issue no IDs.
func (s *scene) refuse(name, reason, problem string) {
	m := s.view(name)
	m.Problem, m.Reason = problem, reason
}
