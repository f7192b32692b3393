package overview

import (
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestVerdictWithoutAnswersOrLeader(t *testing.T) {
	t.Parallel()
	verdicts{
		"one down": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(false, "c"); return s }, warning,
			"c does not answer a at c:7700; a and b are issuing IDs; b leads; the cluster tolerates no further failure; without quorum each continues until 12:14 UTC; start c, or remove it if it is lost permanently.",
			[]string{"a-member-does-not-start"},
		},
		"one unreachable over the API only": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(true, "c"); return s }, warning,
			"c does not answer a at c:7700; a and b are issuing IDs; b leads; the cluster tolerates no further failure; without quorum each continues until 12:14 UTC; check the process of c, and the network from a to it.",
			[]string{"member-cut-off"},
		},
		"one killed": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("c"); return s }, warning,
			"c is down: c:7700 refuses connections; a and b are issuing IDs; b leads; the cluster tolerates no further failure; without quorum each continues until 12:14 UTC; start c, or remove it if it is lost permanently.",
			[]string{"a-member-does-not-start"},
		},
		"one halted": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.view("c").Member.Halted = true
				s.kill("c")
				return s
			}, warning,
			"c halted, because it was unsafe to continue; a and b are issuing IDs; b leads; the cluster tolerates no further failure; without quorum each continues until 12:14 UTC; read the log of c, and start it again when the cause is gone.",
			[]string{"a-member-does-not-start"},
		},
		"one does not replicate": {
			func() *scene { s := newScene("a", "b", "c"); s.view("c").Member.Stalled = true; return s }, warning,
			"c takes no entries of the log from the leader, and counts as failed; 3 of 3 members are issuing IDs; b leads; the cluster tolerates no further failure; without quorum each continues until 12:14 UTC; read the log of c.",
			[]string{"follower-behind"},
		},
		"one silent for long, in gossip": {
			func() *scene { s := newScene("a", "b", "c"); s.quiet(quiet{since: 2}, true, "c"); return s }, warning,
			"c does not answer a at c:7700, although gossip reaches it; a and b are issuing IDs; b leads; the cluster tolerates no further failure; without quorum each continues until 12:14 UTC; check the process of c, and the network from a to it.",
			[]string{"member-cut-off"},
		},
		"one refuses for long, in gossip": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.quiet(quiet{since: 2, refused: true}, true, "c")
				return s
			}, warning,
			"c refuses connections at c:7700, although gossip reaches it; a and b are issuing IDs; b leads; the cluster tolerates no further failure; without quorum each continues until 12:14 UTC; check the process of c, and the network from a to it.",
			[]string{"member-cut-off"},
		},
		"leader killed, not noticed yet": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("b"); return s }, warning,
			"The leader, b, is down: b:7700 refuses connections; a and c are issuing IDs; without quorum each continues until 12:14 UTC; wait some seconds for the election of another leader.",
			[]string{"no-leader", "a-member-does-not-start"},
		},
		"leader killed, election": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("b"); s.leader(""); return s }, warning,
			"No leader, because b is down: an election is in progress; a and c are issuing IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader", "a-member-does-not-start"},
		},
		"follower killed, election": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("c"); s.leader(""); return s }, warning,
			"No leader: an election is in progress; 1 more problem; a and b are issuing IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader", "a-member-does-not-start"},
		},
		"two of three killed": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("b", "c"); return s }, bad,
			"Quorum is lost: b and c are down; a is issuing IDs, but no numbers of strict sequences; without quorum a continues until 12:14 UTC; start b and c; do not restart a.",
			[]string{"no-leader", "a-member-does-not-start", "a-member-does-not-start"},
		},
		"two of three started empty": {
			func() *scene { s := newScene("a", "b", "c"); s.replace("b", "c"); s.leader(""); return s }, bad,
			"Quorum is lost: b and c are down; a is issuing IDs, but no numbers of strict sequences; without quorum a continues until 12:14 UTC; start b and c with the data directories that they had, or recover the cluster if most of these are lost; do not restart a.",
			[]string{"lost-majority", "lost-majority", "lost-majority"},
		},
		"one started empty": {
			func() *scene { s := newScene("a", "b", "c"); s.replace("c"); return s }, warning,
			"c is not at c:7700, where another member answers; a and b are issuing IDs; b leads; the cluster tolerates no further failure; without quorum each continues until 12:14 UTC; start c with the data directory that it had, or remove it if that is lost.",
			[]string{"a-member-does-not-start"},
		},
		"three of five killed": {
			func() *scene {
				s := newScene("a", "b", "c", "d", "e")
				s.kill("c", "d", "e")
				s.leader("")
				return s
			}, bad,
			"Quorum is lost: c, d and e are down; a and b are issuing IDs, but no numbers of strict sequences; without quorum each continues until 12:14 UTC; start c, d and e; do not restart the others.",
			[]string{"no-leader", "a-member-does-not-start", "a-member-does-not-start", "a-member-does-not-start"},
		},
		"leadership moves, and the old leader has not said so": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.leader("b", "b")
				s.older["b"] = true
				return s
			}, warning,
			"No leader: an election is in progress; 3 of 3 members are issuing IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader"},
		},
		"nonvoter down": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.add("d", snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER)
				s.leader("b")
				s.silence(false, "d")
				return s
			}, warning,
			"d does not answer a at d:7700; a, b and c are issuing IDs; b leads; the cluster tolerates one further failure; without quorum each continues until 12:14 UTC; start d, or remove it if it is lost permanently.",
			[]string{"a-member-does-not-start"},
		},
		"cut off": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(true, "b", "c"); s.leader(""); return s }, bad,
			"Quorum is lost, or a is cut off from it: b and c do not answer a; a is issuing IDs, but no numbers of strict sequences; without quorum a continues until 12:14 UTC; start b and c, or restore the network to a; do not restart a.",
			[]string{"member-cut-off", "member-cut-off", "member-cut-off"},
		},
		"cut off, window ended": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.silence(false, "b", "c")
				s.leader("")
				s.refuse("a", rpc.WindowEnded, "the window ended at 2026-11-24T11:59:00.000Z, and no new one was granted (...)")
				return s
			}, bad,
			"Quorum is lost, or a is cut off from it: b and c do not answer a; no member that answers is issuing IDs; start b and c, or restore the network to a; do not restart a.",
			[]string{"member-cut-off", "member-cut-off", "a-member-does-not-start", "a-member-does-not-start"},
		},
		"quorum of five lost": {
			func() *scene {
				s := newScene("a", "b", "c", "d", "e")
				s.silence(false, "c", "d", "e")
				s.leader("")
				return s
			}, bad,
			"Quorum is lost: c, d and e do not answer a; a and b are issuing IDs, but no numbers of strict sequences; without quorum each continues until 12:14 UTC; start c, d and e; do not restart the others.",
			[]string{"no-leader", "a-member-does-not-start", "a-member-does-not-start", "a-member-does-not-start"},
		},
		"leader killed": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(true, "b"); s.leader(""); return s }, warning,
			"No leader: an election is in progress; 1 more problem; a and c are issuing IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader", "member-cut-off"},
		},
		"leader killed, not noticed by the composer": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(true, "b"); return s }, warning,
			"The leader, b, does not answer a; a and c are issuing IDs; without quorum each continues until 12:14 UTC; check its process, and the network to its API port.",
			[]string{"member-cut-off", "member-cut-off"},
		},
		"no leader for long": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.leader("")
				s.without = 12 * time.Second
				return s
			}, bad,
			"No leader since 11:59:48 UTC, although 3 of 3 voters answer; 3 of 3 members are issuing IDs, but no numbers of strict sequences; without quorum each continues until 12:14 UTC; check the Raft ports between the members, and their clocks.",
			[]string{"no-leader"},
		},
		"Raft cut off, API not": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.leader("b", "b", "c")
				s.without = 2 * time.Second
				return s
			}, warning,
			"a reaches no leader, although b leads; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; check the Raft port between them.",
			[]string{"member-cut-off"},
		},
		"a leader that the composer has not heard yet": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.leader("b", "b", "c")
				s.without = time.Second
				return s
			}, good,
			"3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.", nil,
		},
		"a newer leader elsewhere": {
			func() *scene {
				s := newScene("a", "b", "c") // b has not learned of the new leader
				s.statuses["c"].LeaderId, s.statuses["c"].LeaderName, s.statuses["c"].Term = "c", "c", 4
				return s
			}, good,
			"3 of 3 members are issuing IDs; c leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.", nil,
		},
		"others take the composer for the leader still": {
			func() *scene { s := newScene("a", "b", "c"); s.leader("a", "b", "c"); return s }, warning,
			"No leader: an election is in progress; 3 of 3 members are issuing IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader"},
		},
		"shutting down": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.Internal, "this member is shutting down")
				return s
			}, warning,
			"c issues no IDs: this member is shutting down; 2 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.", []string{"runbook"},
		},
		"upgrade waits for the leader": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Upgrade = &snowraftv1.Upgrade{FsmVersion: 1, NextFsmVersion: 2, Upgrades: snowraftv1.Upgrades_UPGRADES_AUTO}
				return s
			}, good,
			"3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.", []string{"upgrade-not-finalized"},
		},
	}.check(t)
}

// While quorum is lost, no member can be removed, and no finding advises a removal.
func TestFindingsOfALostQuorumRemoveNoMember(t *testing.T) {
	t.Parallel()
	s := newScene("a", "b", "c")
	s.kill("b")
	s.silence(false, "c")
	s.leader("")
	s.judge()
	findings := s.o.GetVerdict().GetFindings()
	if len(findings) != 3 {
		t.Fatalf("findings %v, want 3", findings)
	}
	for _, f := range findings {
		if strings.Contains(f.GetAction(), "remove") {
			t.Errorf("finding %q: action %q", f.GetText(), f.GetAction())
		}
	}
}
