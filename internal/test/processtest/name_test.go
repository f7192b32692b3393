//go:build process

package processtest

import (
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// refusedName checks the error of a new member whose name is taken.
func refusedName(t *testing.T, m *member, taken *snowraftv1.Member) {
	t.Helper()
	if code := m.exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	text := m.stderr.tail(1)
	for _, want := range []string{"name is taken", `"` + m.name + `"`, taken.GetId(), taken.GetRaftAddress(), m.dir, "--force-name", "snowraft member remove " + taken.GetId()} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

// TestTakenName starts a member with another data directory by accident, and replaces members.
func TestTakenName(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	victim := others(members, leader(t, members))[0]
	taken := listed(t, members[0], victim.name)

	// Another host has the name of a live member.
	second := newcomer(t, victim.name, members).start()
	refusedName(t, second, taken)
	logged := 0
	for _, m := range members {
		logged += strings.Count(m.stderr.String(), "member not added: its name is taken")
		m.untilVoters(3)
	}
	if logged != 1 {
		t.Errorf("the logs have %d lines about the refusal, want 1", logged)
	}

	// The member itself starts with another data directory. With its own directory, it returns.
	victim.stop()
	dir := victim.dir
	victim.dir += ".wrong"
	victim.start()
	refusedName(t, victim, taken)
	victim.dir = dir
	victim.start().untilIssues()
	members[0].untilVoters(3)

	// A request to add a waiting newcomer fails and names the member that has the newcomer's name.
	waits := newMember(t, victim.name, "--bootstrap-expect", "0").start()
	until(t, "the newcomer listens", func() bool { return strings.Contains(waits.stderr.String(), "member started") })
	_, stderr, code := command(t, at(members[0]), "member", "add", waits.gossip)
	if code == 0 || !strings.Contains(stderr, "name of member "+taken.GetId()) {
		t.Errorf("member add: exit code %d: %s", code, stderr)
	}
	refusedName(t, waits, taken)

	// One replacement joins before the removal, and one after it.
	rest := others(members, victim)
	victim.kill()
	early := newcomer(t, victim.name, members, "--force-name").start()
	early.untilIssues()
	if _, stderr, code := command(t, at(rest[0]), "member", "remove", taken.GetId()); code != 0 {
		t.Errorf("member remove: %s", stderr)
	}
	for _, m := range rest {
		m.untilVoters(3)
	}
	early.kill()
	if _, stderr, code := command(t, at(rest[0]), "member", "remove", early.name); code != 0 {
		t.Errorf("member remove: %s", stderr)
	}
	newcomer(t, victim.name, rest).start().untilIssues()
	rest[0].untilVoters(3)
}

// TestNewMembersOfOneName starts three members of a new cluster, two of which have the same name.
func TestNewMembersOfOneName(t *testing.T) {
	t.Parallel()
	members := newCluster(t, 3)
	name := members[1].name
	members[1].name = members[0].name
	for _, m := range members {
		m.start()
	}
	var halted *member
	until(t, "one of two members with one name has halted", func() bool {
		for _, m := range members[:2] {
			if !m.running() {
				halted = m
			}
		}
		return halted != nil
	})
	if text := halted.stderr.tail(1); halted.exit() != 1 || !strings.Contains(text, "name is taken") || !strings.Contains(text, "--name") {
		t.Errorf("%s exited with %s", halted.name, text)
	}
	halted.name = name
	halted.start()
	for _, m := range members {
		m.untilIssues()
		m.untilVoters(3)
	}
}

// TestRestartUnderTakenName restarts a member with the name of another one by mistake. All members name both, and commands
// by name have no effect until the member has its own name again.
func TestRestartUnderTakenName(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	wrong, right := members[2], members[1]
	ids := []string{listed(t, members[0], wrong.name).GetId(), listed(t, members[0], right.name).GetId()}
	wrong.stop()
	own := wrong.name
	wrong.name = right.name
	wrong.start().untilIssues()
	for _, m := range members {
		m.logs("level=WARN", "several members have the same name", "name="+right.name, ids[0], ids[1])
	}
	_, stderr, code := command(t, at(members[0]), "member", "remove", right.name)
	if code != 1 || !strings.Contains(stderr, "several members have this name") || !strings.Contains(stderr, ids[0]) || !strings.Contains(stderr, ids[1]) {
		t.Errorf("member remove: exit code %d: %s", code, stderr)
	}
	wrong.stop()
	wrong.name = own
	wrong.start().untilIssues()
	for _, name := range []string{own, right.name} {
		until(t, "the members have their own names", func() bool {
			n := 0
			for _, m := range members[0].list() {
				if m.GetName() == name {
					n++
				}
			}
			return n == 1
		})
	}
	members[0].untilVoters(3)
}
