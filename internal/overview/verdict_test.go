package overview

import (
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// verdicts maps names to scenes with their expected verdicts.
type verdicts map[string]struct {
	scene    func() *scene
	level    snowraftv1.VerdictLevel
	sentence string
	runbooks []string // expected anchors of the findings
}

func (v verdicts) check(t *testing.T) {
	t.Helper()
	for name, c := range v {
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

func TestVerdict(t *testing.T) {
	t.Parallel()
	verdicts{
		"all well": {
			func() *scene { return newScene("a", "b", "c") }, good,
			"3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.", nil,
		},
		"five": {
			func() *scene { return newScene("a", "b", "c", "d", "e") }, good,
			"5 of 5 members are issuing IDs; b leads; the cluster tolerates 2 failures; without quorum each continues until 12:14 UTC.", nil,
		},
		"one member": {
			func() *scene { return newScene("a") }, good,
			"a is issuing IDs and is the only member; the cluster tolerates no failure.", nil,
		},
		"two voters": {
			func() *scene { return newScene("a", "b") }, warning,
			"With 2 voters, the cluster tolerates no failure; 2 of 2 members are issuing IDs; b leads; without quorum each continues until 12:14 UTC; add members until there are 3 voters.", []string{"too-few-voters"},
		},
		"nonvoter": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.add("d", snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER)
				s.leader("b")
				return s
			}, good,
			"4 of 4 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.", nil,
		},
		"clock behind": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.ClockBehind, "this clock is 3.2s behind, limit 1s; correct the clock, or wait until it has caught up")
				s.view("c").ClockAtMs -= 3200
				return s
			}, warning,
			"c issues no IDs: its clock is 3.2 s behind the observed clock, limit 1 s; 2 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; correct the clock of c, or those of the others if it is correct.",
			[]string{"clock-behind"},
		},
		"clock behind the majority's": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.ClockBehind, "this clock is 4.3s behind, limit 1s; correct the clock, or wait until it has caught up")
				s.view("c").ClockAtMs -= 4300
				s.view("c").ClockOffsetMs = -4998
				return s
			}, warning,
			"c issues no IDs: its clock is 5 s behind the majority's, limit 1 s; 2 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; correct the clock of c, or those of the others if it is correct.",
			[]string{"clock-behind"},
		},
		"clock ahead": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.ClockSkew, "this clock is 2h ahead of the majority's, limit 500ms; correct the clock, or those of the other members if this one is correct")
				s.view("c").ClockOffsetMs = 7_200_000
				return s
			}, warning,
			"c issues no IDs: its clock is 2h0m ahead of the majority's, limit 500 ms; 2 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; correct the clock of c, or those of the others if it is correct.",
			[]string{"clock-ahead"},
		},
		"clock a little ahead": {
			func() *scene { s := newScene("a", "b", "c"); s.view("c").ClockOffsetMs = 300; return s }, warning,
			"The clock of c is 300 ms ahead of the majority's, and beyond 500 ms it stops issuing; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; correct the clock of c, or those of the others if it is correct.",
			[]string{"clock-ahead"},
		},
		"clock off by nothing to speak of": {
			func() *scene { s := newScene("a", "b", "c"); s.view("c").ClockOffsetMs = -80; return s }, good,
			"3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.", nil,
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
			"The observed clock is at least 1h0m ahead of the clocks of a, b and c, which issue no IDs; no member is issuing IDs; b leads; the cluster tolerates one failure; correct the clocks, or set the observed clock back if they are correct.",
			[]string{"observed-clock-in-the-future"},
		},
		"no window yet": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.WindowEnded, "no window was granted yet; try again, or try another member")
				s.view("c").ServesUntilAtMs = 0
				return s
			}, warning,
			"c issues no IDs: no window was granted yet; 2 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; wait some seconds for a window.",
			[]string{"member-cut-off"},
		},
		"workers exhausted on two members": {
			func() *scene {
				s := newScene("a", "b", "c")
				for _, name := range []string{"a", "c"} {
					m := s.view(name)
					m.Lanes = append(m.Lanes, &snowraftv1.Lane{Layout: "tiny", Problem: "all workers ...", Reason: rpc.WorkersExhausted})
				}
				return s
			}, warning,
			`All workers of layout "tiny" are held, and a and c need one; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; use a layout with more worker bits, or stop holders.`,
			[]string{"workers-exhausted"},
		},
		"workers exhausted": {
			func() *scene {
				s := newScene("a", "b", "c")
				m := s.view("c")
				m.Lanes = append(m.Lanes, &snowraftv1.Lane{Layout: "tiny", Problem: "all workers ...", Reason: rpc.WorkersExhausted})
				return s
			}, warning,
			`All workers of layout "tiny" are held, and c needs one; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; use a layout with more worker bits, or stop holders.`,
			[]string{"workers-exhausted"},
		},
		"time field full soon": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.view("c").Lanes[0].ExhaustsAtMs = noon + 86_400_000
				return s
			}, warning,
			`The time field of layout "default" is full on 2026-11-25; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; create a layout with a later epoch or more time bits.`,
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
			"The cluster was restored and grants no windows before 12:10 UTC; 2 more problems; no member is issuing IDs; b leads; the cluster tolerates one failure; wait until then.",
			[]string{"restored-and-frozen", "restored-and-frozen", "restored-and-frozen"},
		},
		"restored, sequences frozen": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon - 600_000, FrozenSequences: 1}
				return s
			}, warning,
			"1 sequence is frozen since the restore; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; resume them with the last numbers of your own data.",
			[]string{"restored-and-frozen"},
		},
		"restored, templates suspended and pasts closed": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon - 600_000, SuspendedTemplates: 2, ClosedPasts: 1}
				return s
			}, warning,
			"2 templates are suspended since the restore, so no sequence begins with them; 1 more problem; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; resume them with a start beyond the numbers of every lost sequence.",
			[]string{"restored-and-frozen", "restored-and-frozen"},
		},
		"restored, the old cluster lives": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon - 600_000, OldClusterAlive: "x at 10.0.0.9:7702 of cluster old", OldClusterId: "old"}
				return s
			}, bad,
			"The cluster from before the restore still runs, so this one issues nothing: x at 10.0.0.9:7702 of cluster old; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; if this cluster is a test, stop it; otherwise stop the other's members permanently, or end the other.",
			[]string{"restored-and-frozen"},
		},
		"restored, another member hears the old cluster": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon - 600_000, OldClusterAlive: "one that member b hears"}
				return s
			}, bad,
			"The cluster from before the restore still runs, so this one issues nothing: one that member b hears; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; if this cluster is a test, stop it; otherwise stop the other's members permanently, or end the other.",
			[]string{"restored-and-frozen"},
		},
		"restored, a sibling lives": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon - 600_000, OldClusterAlive: "x at 10.0.0.9:7702 of cluster old", OldClusterId: "old", OldClusterIsSibling: true}
				return s
			}, bad,
			"Another cluster was restored from the same one and runs, so both issue nothing: x at 10.0.0.9:7702 of cluster old; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; if this cluster is a test, stop it; otherwise stop the other's members permanently, or end the other.",
			[]string{"restored-and-frozen"},
		},
		"restored, the old cluster was ended": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Restoration = &snowraftv1.Restoration{IssuesAtMs: noon - 600_000, OldClusterAlive: "x at 10.0.0.9:7702 of cluster old", OldClusterId: "old", Superseded: []string{"old"}}
				return s
			}, bad,
			"The cluster from before the restore still runs, so this one issues nothing: x at 10.0.0.9:7702 of cluster old; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; it was ended, and its members halt once they hear it; stop those of an older program.",
			[]string{"restored-and-frozen"},
		},
		"a younger cluster lives": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.statuses["b"].YoungerClusterAlive = "x at 10.0.0.9:7702 of cluster old"
				return s
			}, warning,
			"Another cluster, restored from a backup of this one, runs, and issues nothing while this one runs: x at 10.0.0.9:7702 of cluster old; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; stop it, unless it is to take over; then end this cluster from there.",
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
			"b hears a peer at 10.0.0.9 that it cannot understand: it is open; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.",
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
			"The new secret new is not in use yet, because c has not reported it; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; give every member the same secret file.",
			[]string{"secret-not-in-use"},
		},
		"the host of a member moved": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.statuses["c"].AddressProblem = "other members gossip with 192.0.2.1, and c.example now has the address 192.0.2.7"
				return s
			}, warning,
			"The address of c changed: other members gossip with 192.0.2.1, and c.example now has the address 192.0.2.7; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; restart c.",
			[]string{"changed-address"},
		},
		"certificate files hold an expired one": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.statuses["b"].CustomCertificate = &snowraftv1.CustomCertificate{ExpiresAtMs: noon + 40*24*3600_000, Problem: "valid only until yesterday"}
				s.statuses["c"].CustomCertificate = &snowraftv1.CustomCertificate{ExpiresAtMs: noon + 15*24*3600_000}
				return s
			}, warning,
			"b keeps its certificate until 2027-01-03, because its files have a problem: valid only until yesterday; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; replace the files.",
			[]string{"custom-certificate"},
		},
		"certificates near their end": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.statuses["a"].CustomCertificate = &snowraftv1.CustomCertificate{ExpiresAtMs: noon + 13*24*3600_000}
				s.statuses["c"].CustomCertificate = &snowraftv1.CustomCertificate{ExpiresAtMs: noon - 24*3600_000}
				return s
			}, warning,
			"The certificate of a expires on 2026-12-07; 1 more problem; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; replace its files.",
			[]string{"custom-certificate", "custom-certificate"},
		},
		"mixed versions": {
			func() *scene { s := newScene("a", "b", "c"); s.view("c").Member.Version = "v2"; return s }, good,
			"3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.", []string{"upgrade-not-finalized"},
		},
		"upgrade blocked": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Upgrade = &snowraftv1.Upgrade{FsmVersion: 1, NextFsmVersion: 2, Blockers: []*snowraftv1.UpgradeBlocker{{MemberName: "c", Problem: "knows commands up to 1"}}}
				return s
			}, warning,
			"An upgrade of the log's commands from version 1 to 2 is not finalized: c knows commands up to 1; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; upgrade or start the members that block it.",
			[]string{"upgrade-not-finalized"},
		},
		"upgrade waits for the operator": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.own.Upgrade = &snowraftv1.Upgrade{FsmVersion: 1, NextFsmVersion: 2, Upgrades: snowraftv1.Upgrades_UPGRADES_MANUAL}
				return s
			}, warning,
			"An upgrade of the log's commands from version 1 to 2 is not finalized; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; finalize it when no member will return to the older program.",
			[]string{"upgrade-not-finalized"},
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
			"3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:00:01 UTC.", nil,
		},
	}.check(t)
}
