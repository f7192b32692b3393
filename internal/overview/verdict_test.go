package overview

import (
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scene    func() *scene
		level    snowraftv1.VerdictLevel
		sentence string
		runbooks []string // of the findings
	}{
		"all well": {
			func() *scene { return newScene("a", "b", "c") }, good,
			"3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC.", nil,
		},
		"five": {
			func() *scene { return newScene("a", "b", "c", "d", "e") }, good,
			"5 of 5 members issue IDs; b leads; 2 may fail; without quorum each continues until 12:14 UTC.", nil,
		},
		"one member": {
			func() *scene { return newScene("a") }, good,
			"a issues IDs and is the only member: it may not fail.", nil,
		},
		"two voters": {
			func() *scene { return newScene("a", "b") }, warning,
			"2 voters, so none may fail; 2 of 2 members issue IDs; b leads; without quorum each continues until 12:14 UTC; add members until there are 3 voters.", []string{"too-few-voters"},
		},
		"nonvoter": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.add("d", snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER)
				s.leader("b")
				return s
			}, good,
			"4 of 4 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC.", nil,
		},
		"one down": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(false, "c"); return s }, warning,
			"c does not answer a at c:7700; a and b issue IDs; b leads; no other voter may fail; without quorum each continues until 12:14 UTC; start c, or remove it if it is gone for good.",
			[]string{"a-member-does-not-start"},
		},
		"one unreachable over the API only": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(true, "c"); return s }, warning,
			"c does not answer a at c:7700; a and b issue IDs; b leads; no other voter may fail; without quorum each continues until 12:14 UTC; check the process of c, and the network from a to it.",
			[]string{"member-cut-off"},
		},
		"one killed": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("c"); return s }, warning,
			"c is down: c:7700 refuses connections; a and b issue IDs; b leads; no other voter may fail; without quorum each continues until 12:14 UTC; start c, or remove it if it is gone for good.",
			[]string{"a-member-does-not-start"},
		},
		"one halted": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.view("c").Member.Halted = true
				s.kill("c")
				return s
			}, warning,
			"c halted, because it was unsafe to continue; a and b issue IDs; b leads; no other voter may fail; without quorum each continues until 12:14 UTC; read the log of c, and start it again when the cause is gone.",
			[]string{"a-member-does-not-start"},
		},
		"one silent for long, in gossip": {
			func() *scene { s := newScene("a", "b", "c"); s.quiet(quiet{since: 2}, true, "c"); return s }, warning,
			"c does not answer a at c:7700, although gossip reaches it; a and b issue IDs; b leads; no other voter may fail; without quorum each continues until 12:14 UTC; check the process of c, and the network from a to it.",
			[]string{"member-cut-off"},
		},
		"one refuses for long, in gossip": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.quiet(quiet{since: 2, refused: true}, true, "c")
				return s
			}, warning,
			"c refuses connections at c:7700, although gossip reaches it; a and b issue IDs; b leads; no other voter may fail; without quorum each continues until 12:14 UTC; check the process of c, and the network from a to it.",
			[]string{"member-cut-off"},
		},
		"leader killed, not noticed yet": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("b"); return s }, warning,
			"The leader, b, is down: b:7700 refuses connections; a and c issue IDs; without quorum each continues until 12:14 UTC; wait some seconds for the election of another leader.",
			[]string{"no-leader", "a-member-does-not-start"},
		},
		"leader killed, election": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("b"); s.leader(""); return s }, warning,
			"No leader, because b is down: an election is in progress; a and c issue IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader", "a-member-does-not-start"},
		},
		"follower killed, election": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("c"); s.leader(""); return s }, warning,
			"No leader: an election is in progress; 1 more problem; a and b issue IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader", "a-member-does-not-start"},
		},
		"two of three killed": {
			func() *scene { s := newScene("a", "b", "c"); s.kill("b", "c"); return s }, bad,
			"Quorum is lost: b and c are down; a issues IDs; without quorum a continues until 12:14 UTC; start b and c; do not restart a.",
			[]string{"no-leader", "a-member-does-not-start", "a-member-does-not-start"},
		},
		"three of five killed": {
			func() *scene {
				s := newScene("a", "b", "c", "d", "e")
				s.kill("c", "d", "e")
				s.leader("")
				return s
			}, bad,
			"Quorum is lost: c, d and e are down; a and b issue IDs; without quorum each continues until 12:14 UTC; start c, d and e; do not restart the others.",
			[]string{"no-leader", "a-member-does-not-start", "a-member-does-not-start", "a-member-does-not-start"},
		},
		"leadership moves, and the old leader has not said so": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.leader("b", "b")
				s.older["b"] = true
				return s
			}, warning,
			"No leader: an election is in progress; 3 of 3 members issue IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
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
			"d does not answer a at d:7700; a, b and c issue IDs; b leads; one more may fail; without quorum each continues until 12:14 UTC; start d, or remove it if it is gone for good.",
			[]string{"a-member-does-not-start"},
		},
		"cut off": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(true, "b", "c"); s.leader(""); return s }, bad,
			"Quorum is lost, or a is cut off from it: b and c do not answer a; a issues IDs; without quorum a continues until 12:14 UTC; start b and c, or restore the network to a; do not restart a.",
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
			"Quorum is lost, or a is cut off from it: b and c do not answer a; no member that answers issues IDs; start b and c, or restore the network to a; do not restart a.",
			[]string{"member-cut-off", "member-cut-off", "a-member-does-not-start", "a-member-does-not-start"},
		},
		"quorum of five lost": {
			func() *scene {
				s := newScene("a", "b", "c", "d", "e")
				s.silence(false, "c", "d", "e")
				s.leader("")
				return s
			}, bad,
			"Quorum is lost: c, d and e do not answer a; a and b issue IDs; without quorum each continues until 12:14 UTC; start c, d and e; do not restart the others.",
			[]string{"no-leader", "a-member-does-not-start", "a-member-does-not-start", "a-member-does-not-start"},
		},
		"leader killed": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(true, "b"); s.leader(""); return s }, warning,
			"No leader: an election is in progress; 1 more problem; a and c issue IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader", "member-cut-off"},
		},
		"leader killed, not noticed by the composer": {
			func() *scene { s := newScene("a", "b", "c"); s.silence(true, "b"); return s }, warning,
			"The leader, b, does not answer a; a and c issue IDs; without quorum each continues until 12:14 UTC; check its process, and the network to its API port.",
			[]string{"member-cut-off", "member-cut-off"},
		},
		"no leader for long": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.leader("")
				s.without = 12 * time.Second
				return s
			}, bad,
			"No leader for 12 s, although 3 of 3 voters answer; 3 of 3 members issue IDs; without quorum each continues until 12:14 UTC; check the Raft ports between the members, and their clocks.",
			[]string{"no-leader"},
		},
		"Raft cut off, API not": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.leader("b", "b", "c")
				s.without = 2 * time.Second
				return s
			}, warning,
			"a reaches no leader, although b leads; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; check the Raft port between them.",
			[]string{"member-cut-off"},
		},
		"a leader that the composer has not heard yet": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.leader("b", "b", "c")
				s.without = time.Second
				return s
			}, good,
			"3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC.", nil,
		},
		"a newer leader elsewhere": {
			func() *scene {
				s := newScene("a", "b", "c") // b has not heard of it
				s.statuses["c"].LeaderId, s.statuses["c"].LeaderName, s.statuses["c"].Term = "c", "c", 4
				return s
			}, good,
			"3 of 3 members issue IDs; c leads; one may fail; without quorum each continues until 12:14 UTC.", nil,
		},
		"others take the composer for the leader still": {
			func() *scene { s := newScene("a", "b", "c"); s.leader("a", "b", "c"); return s }, warning,
			"No leader: an election is in progress; 3 of 3 members issue IDs; without quorum each continues until 12:14 UTC; wait some seconds.",
			[]string{"no-leader"},
		},
		"clock behind": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.ClockBehind, "this clock is 3.2s behind, limit 1s; correct the clock, or wait until it has caught up")
				s.view("c").ClockAtMs -= 3200
				return s
			}, warning,
			"c issues no IDs: its clock is 3.2 s behind the observed clock, limit 1 s; 2 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; correct the clock of c.",
			[]string{"clock-behind"},
		},
		"clock ahead": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.ClockSkew, "this clock is 2h ahead of the majority's, limit 500ms; correct the clock")
				s.view("c").ClockOffsetMs = 7_200_000
				return s
			}, warning,
			"c issues no IDs: its clock is 2h0m ahead of the majority's, limit 500 ms; 2 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; correct the clock of c.",
			[]string{"clock-ahead"},
		},
		"clock a little ahead": {
			func() *scene { s := newScene("a", "b", "c"); s.view("c").ClockOffsetMs = 300; return s }, warning,
			"The clock of c is 300 ms ahead of the majority's, and beyond 500 ms it stops issuing; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; correct the clock of c.",
			[]string{"clock-ahead"},
		},
		"clock off by nothing to speak of": {
			func() *scene { s := newScene("a", "b", "c"); s.view("c").ClockOffsetMs = -80; return s }, good,
			"3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC.", nil,
		},
		"observed clock in the future": {
			func() *scene {
				s := newScene("a", "b", "c")
				for _, name := range []string{"a", "b", "c"} {
					s.refuse(name, rpc.ClockBehind, "this clock is 1h behind")
				}
				s.o.ObservedClockAtMs += 3_600_000
				return s
			}, bad,
			"The observed clock is at least 1h0m ahead of the clocks of a, b and c, which issue no IDs; no member issues IDs; b leads; one may fail; correct the clocks, or set the observed clock back if they are correct.",
			[]string{"observed-clock-in-the-future"},
		},
		"no window yet": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.WindowEnded, "no window was granted yet; try again, or try another member")
				s.view("c").ServesUntilAtMs = 0
				return s
			}, warning,
			"c issues no IDs: no window was granted yet; 2 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; wait some seconds for a window.",
			[]string{"member-cut-off"},
		},
		"shutting down": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.Internal, "this member is shutting down")
				return s
			}, warning,
			"c issues no IDs: this member is shutting down; 2 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC.", []string{"runbook"},
		},
		"workers exhausted": {
			func() *scene {
				s := newScene("a", "b", "c")
				m := s.view("c")
				m.Lanes = append(m.Lanes, &snowraftv1.Lane{Layout: "tiny", Problem: "all workers ...", Reason: rpc.WorkersExhausted})
				return s
			}, warning,
			`All workers of layout "tiny" are held, and c needs one; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; use a layout with more worker bits, or stop holders.`,
			[]string{"workers-exhausted"},
		},
		"time field full soon": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.view("c").Lanes[0].ExhaustsAtMs = noon + 86_400_000
				return s
			}, warning,
			`The time field of layout "default" is full on 2026-11-25; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; create a layout with a later epoch or more time bits.`,
			[]string{"layout-near-its-end"},
		},
		"restored, fenced": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon + 600_000, FrozenSequences: 12, NamesClosed: true}
				for _, name := range []string{"a", "b", "c"} {
					s.refuse(name, rpc.Fenced, "no window ...")
					s.view(name).ServesUntilAtMs = 0
				}
				return s
			}, bad,
			"The cluster was restored and grants no windows before 12:10 UTC; 2 more problems; no member issues IDs; b leads; one may fail; wait until then.",
			[]string{"restored-and-frozen", "restored-and-frozen", "restored-and-frozen"},
		},
		"restored, sequences frozen": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon - 600_000, FrozenSequences: 1}
				return s
			}, warning,
			"1 sequence is frozen since the restore; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; resume them with the last numbers of your own data.",
			[]string{"restored-and-frozen"},
		},
		"restored, the old cluster lives": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon - 600_000, OldClusterAlive: "x at 10.0.0.9:7702 of cluster old"}
				return s
			}, bad,
			"The cluster from before the restore still runs, so this one grants nothing: x at 10.0.0.9:7702 of cluster old; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; stop its members for good.",
			[]string{"restored-and-frozen"},
		},
		"foreign peer": {
			func() *scene {
				s := newScene("a", "b", "c")
				for _, id := range []string{"b", "c"} {
					s.statuses[id].ForeignPeers = []*snowraftv1.ForeignPeer{{Address: "10.0.0.9", Problem: "it is open"}}
				}
				return s
			}, warning,
			"b hears a peer at 10.0.0.9 that it cannot understand: it is open; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC.",
			[]string{"members-that-cannot-understand-each-other"},
		},
		"secret not everywhere": {
			func() *scene {
				s := newScene("a", "b", "c")
				for _, status := range s.statuses {
					status.SecretFingerprints, status.SigningFingerprint = []string{"new", "old"}, "old"
				}
				s.statuses["c"].SecretFingerprints = []string{"old"}
				return s
			}, warning,
			"The new secret new is not in use yet, because c has not reported it; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; give every member the same secret file.",
			[]string{"secret-not-in-use"},
		},
		"mixed versions": {
			func() *scene { s := newScene("a", "b", "c"); s.view("c").Member.Version = "v2"; return s }, good,
			"3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC.", []string{"upgrade-not-finalized"},
		},
		"upgrade blocked": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Upgrade = &snowraftv1.Upgrade{FsmVersion: 1, NextFsmVersion: 2, Blockers: []*snowraftv1.UpgradeBlocker{{MemberName: "c", Problem: "knows commands up to 1"}}}
				return s
			}, warning,
			"An upgrade of the log's commands from version 1 to 2 is not finalized: c knows commands up to 1; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; upgrade or start the members that block it.",
			[]string{"upgrade-not-finalized"},
		},
		"upgrade waits for the operator": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Upgrade = &snowraftv1.Upgrade{FsmVersion: 1, NextFsmVersion: 2, Upgrades: snowraftv1.Upgrades_UPGRADES_MANUAL}
				return s
			}, warning,
			"An upgrade of the log's commands from version 1 to 2 is not finalized; 3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC; finalize it when no member will return to the older program.",
			[]string{"upgrade-not-finalized"},
		},
		"upgrade waits for the leader": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Upgrade = &snowraftv1.Upgrade{FsmVersion: 1, NextFsmVersion: 2, Upgrades: snowraftv1.Upgrades_UPGRADES_AUTO}
				return s
			}, good,
			"3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:14 UTC.", []string{"upgrade-not-finalized"},
		},
		"not joined": {
			func() *scene {
				s := newScene("a")
				s.own.ClusterId, s.own.NoLeader = "", "this member is not part of a cluster: 1 of 3 members seen: a; waiting for 2 more"
				s.leader("")
				s.refuse("a", rpc.NoLeader, "1 of 3 members seen: a; waiting for 2 more")
				return s
			}, bad,
			"a has not joined a cluster: 1 of 3 members seen: a; waiting for 2 more.", []string{"member-waits-for-others"},
		},
		"a window that ends soon": {
			func() *scene { s := newScene("a", "b", "c"); s.view("b").ServesUntilAtMs = noon + 1999; return s }, good,
			"3 of 3 members issue IDs; b leads; one may fail; without quorum each continues until 12:00:01 UTC.", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.scene()
			s.judge()
			v := s.o.GetVerdict()
			if v.GetLevel() != c.level || v.GetSentence() != c.sentence {
				t.Errorf("verdict %v:\n\t%s\nwant %v:\n\t%s", v.GetLevel(), v.GetSentence(), c.level, c.sentence)
			}
			if len(v.GetFindings()) != len(c.runbooks) {
				t.Fatalf("findings %v, want %d", v.GetFindings(), len(c.runbooks))
			}
			for i, f := range v.GetFindings() {
				if f.GetRunbook() != c.runbooks[i] {
					t.Errorf("finding %q: runbook %q, want %q", f.GetText(), f.GetRunbook(), c.runbooks[i])
				}
			}
		})
	}
}

// While quorum is lost, no member can be removed, and no finding says so.
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
