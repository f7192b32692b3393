//go:build process

package processtest

import (
	"os"
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestMembership adds and removes members with the commands of operators
// while clients that know all addresses request IDs.
func TestMembership(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3, "--promote-after", "6s") // longer than a busy machine needs for the first ID
	for _, name := range []string{"m4", "m5"} {
		members = append(members, newcomer(t, name, members[:3]))
	}
	ledger := newLedger()
	load := newLoad(t, ledger)
	load.roaming(members, 4, few)

	// Members m4 and m5 join as nonvoters, issue IDs, and are promoted.
	for _, m := range members[3:] {
		m.start()
	}
	for _, m := range members[3:] {
		until(t, m.name+" issues as a nonvoter", func() bool {
			err := ledger.ask(m, 100)
			role := m.status().GetRole()
			if role == snowraftv1.MemberRole_MEMBER_ROLE_VOTER {
				t.Fatalf("%s was a voter before it issued IDs as a nonvoter", m.name)
			}
			return err == nil && role == snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER
		})
		if role := listed(t, members[0], m.name).GetRole(); role != snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER {
			t.Errorf("%s is listed as %s, want a nonvoter", m.name, role)
		}
	}
	members[0].untilVoters(5)

	removed := others(members, leader(t, members))[0]
	comesBack(t, ledger, members, removed)
	removed = leader(t, members)
	comesBack(t, ledger, members, removed)

	// A follower and a leader leave at the request of "member leave".
	for _, leads := range []bool{false, true} {
		gone := leader(t, members)
		if !leads {
			gone = others(members, gone)[0]
		}
		until(t, gone.name+" leaves", func() bool {
			_, stderr, code := command(t, at(gone), "member", "leave")
			if code != 0 && !strings.Contains(stderr, "[COMMIT_UNKNOWN]") { // a busy machine may not transfer leadership in time
				t.Fatalf("leave of %s: exit code %d: %s", gone.name, code, stderr)
			}
			return code == 0
		})
		if code := gone.exit(); code != 0 || !strings.Contains(gone.stderr.String(), "member left the cluster") {
			t.Errorf("%s left with exit code %d, want 0 and a line about it", gone.name, code)
		}
		members = others(members, gone)
		for _, m := range members {
			m.untilVoters(len(members))
			ledger.mustAsk(m, 100)
		}
	}
	load.stop()
	report(t, "a request failed at all members", load.failed(func(failure) bool { return true }))
	ledger.checkUnique(t)
	ledger.lanes(t, members[0])
}

// comesBack removes a member through another one, and starts the removed member again: with
// its data, which the member refuses, and without data, as a new member.
func comesBack(t *testing.T, ledger *ledger, members []*member, gone *member) {
	t.Helper()
	rest := others(members, gone)
	old := listed(t, rest[0], gone.name).GetId()
	// The member does not lead, so it forwards the call.
	asked := rest[0]
	if asked == leader(t, members) {
		asked = rest[1]
	}
	if _, stderr, code := command(t, at(asked), "member", "remove", gone.name); code != 0 && !strings.Contains(stderr, "[COMMIT_UNKNOWN]") {
		t.Fatalf("member remove %s: exit code %d: %s", gone.name, code, stderr)
	}
	until(t, gone.name+" is removed", func() bool {
		stdout, _, code := command(t, at(rest[0]), "member", "list")
		if code == 0 && strings.Contains(stdout, gone.name+" ") { // the leader that proposed it may have lost its leadership
			_, _, _ = command(t, at(asked), "member", "remove", gone.name)
		}
		return code == 0 && !strings.Contains(stdout, gone.name+" ")
	})
	toldWhy(t, gone)
	rest[0].untilVoters(len(rest))

	unchanged := steady(t, rest)
	gone.start()
	toldWhy(t, gone)
	unchanged()
	rest[0].untilVoters(len(rest))

	if err := os.RemoveAll(gone.dir); err != nil {
		t.Fatal(err)
	}
	// The member may have started the cluster before; now it joins.
	gone.flags = []string{"--join", seeds(rest...)}
	gone.start().untilIssues()
	ledger.mustAsk(gone, 100)
	for _, m := range members {
		m.untilVoters(len(members))
	}
	if now := listed(t, rest[0], gone.name).GetId(); now == old {
		t.Errorf("%s returned with the removed ID %s", gone.name, old)
	}
}

// toldWhy checks the exit and the error of a removed member.
func toldWhy(t *testing.T, m *member) {
	t.Helper()
	code := m.exit()
	text := m.stderr.tail(1)
	if code != 10 || !strings.Contains(text, "removed from the cluster") || !strings.Contains(text, "empty its data directory") {
		t.Errorf("the removed member %s exited with code %d, want 10 and the reason: %s", m.name, code, text)
	}
}

// listed returns a member as "member list" shows it.
func listed(t *testing.T, askAt *member, name string) *snowraftv1.Member {
	t.Helper()
	for _, m := range answer[snowraftv1.ListMembersResponse](t, at(askAt), "member", "list").GetMembers() {
		if m.GetName() == name {
			return m
		}
	}
	t.Fatalf("%s is not listed", name)
	return nil
}

// TestMemberOfAnotherCluster points members at a foreign cluster. The only member of a cluster refuses to start, and
// a member of a larger cluster stays in its cluster.
func TestMemberOfAnotherCluster(t *testing.T) {
	t.Parallel()
	ours, theirs := startCluster(t, 3), newMember(t, "stranger").start()
	theirs.untilIssues()
	ids := map[*member]string{theirs: theirs.status().GetClusterId()}
	for _, m := range ours {
		ids[m] = m.status().GetClusterId()
	}
	theirs.stop()
	for range 2 {
		theirs.start("--join", seeds(ours...))
		if code := theirs.exit(); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		text := theirs.stderr.tail(1)
		for _, want := range []string{ids[theirs], ids[ours[0]], theirs.dir, "both clusters may issue the same IDs", "start with an empty one", "without"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q", text, want)
			}
		}
		for _, never := range []string{"leadership acquired", "worker acquired", "ready to issue"} {
			if strings.Contains(theirs.stderr.String(), never) {
				t.Errorf("the member logs %q before it halts", never)
			}
		}
	}

	// Without the mistake, the member works as before. Neither cluster adds a member of the other on request.
	theirs.start().untilIssues()
	unchanged := steady(t, ours)
	const refusal = "belongs to another cluster"
	for _, c := range []struct{ asked, added *member }{{ours[0], theirs}, {theirs, ours[0]}} {
		if _, stderr, code := command(t, at(c.asked), "member", "add", c.added.gossip); code != 1 || !strings.Contains(stderr, refusal) {
			t.Errorf("member add of %s at %s: exit code %d: %s", c.added.name, c.asked.name, code, stderr)
		}
	}
	unchanged()

	// A member of a larger cluster reports that its seed is wrong.
	wrong := others(ours, leader(t, ours))[0]
	wrong.stop()
	wrong.flags = []string{"--join", theirs.gossip}
	wrong.start().untilIssues()
	until(t, "the member has logged that its seed is in another cluster", func() bool {
		text := wrong.stderr.String()
		return strings.Contains(text, "join address belongs to another cluster") && strings.Contains(text, "other_cluster="+ids[theirs])
	})

	ledger, others := newLedger(), newLedger() // two clusters may issue equal IDs
	for m, id := range ids {
		if now := m.status().GetClusterId(); now != id {
			t.Errorf("%s has joined cluster %s, want %s", m.name, now, id)
		}
	}
	theirs.untilVoters(1)
	others.mustAsk(theirs, 1000)
	for _, m := range ours {
		m.untilVoters(3)
		ledger.mustAsk(m, 1000)
	}
	ledger.checkUnique(t)
	ledger.lanes(t, ours[0])
}
