//go:build process

package processtest

import (
	"strings"
	"testing"
	"time"
)

// logs waits until a member has logged a line that contains all parts.
func (m *member) logs(parts ...string) {
	m.t.Helper()
	until(m.t, m.name+" logs "+strings.Join(parts, " … "), func() bool { return m.logged(parts...) })
}

func (m *member) logged(parts ...string) bool {
next:
	for line := range strings.Lines(m.stderr.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		return true
	}
	return false
}

// TestTrialMemberGetsNoVote starts a fourth member for some seconds: it must get no vote, and a member that stays must.
func TestTrialMemberGetsNoVote(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3, "--promote-after", "5s")
	lead := leader(t, members)
	for _, m := range members {
		m.logs("level=INFO", `msg="leader changed"`, "leader="+lead.name)
		m.logs("level=INFO", `msg="voters changed"`, "voters=3 alive=3 may_fail=1")
	}
	id := listed(t, members[0], lead.name).GetId()
	if _, stderr, code := command(t, at(members[0]), "config", "set", "--max-window", "20m"); code != 0 {
		t.Fatal(stderr)
	}
	lead.logs("level=INFO", `msg="configuration changed"`, "fields=[max_window_ms]", "actor=open")

	trial := newcomer(t, "trial", members).start()
	trial.untilIssues()
	if voters, nonvoters := members[0].voters(); voters != 3 || nonvoters != 1 {
		t.Errorf("%d voters and %d nonvoters with a member that has just started, want 3 and 1", voters, nonvoters)
	}
	lead.logs("level=INFO", `msg="member joined as nonvoter"`, "peer=trial", "actor=leader")
	trial.kill()
	lead.logs("component=raft", "peer=trial@")
	pass(t, 6*time.Second) // longer than --promote-after
	if voters, _ := members[0].voters(); voters != 3 {
		t.Errorf("%d voters after a trial, want 3", voters)
	}
	until(t, "member list shows since when the trial member is not alive", func() bool {
		stdout, _, _ := command(t, at(members[0]), "member", "list")
		return strings.Contains(stdout, "nonvoter       no, since 20") && strings.Contains(stdout, "Voters: 3 of 3 alive, 1 may fail\n")
	})
	if _, stderr, code := command(t, at(members[0]), "member", "remove", "trial"); code != 0 {
		t.Fatal(stderr)
	}
	lead.logs("level=INFO", `msg="member removed"`, "peer=trial", "actor=open")

	// A member that stays becomes the fourth voter, and everyone who looks learns that four are no better than three.
	stays := newcomer(t, "stays", members).start()
	stays.untilVoters(4)
	lead.logs("level=INFO", `msg="member promoted to voter"`, "peer=stays", "actor=leader", "healthy_for=5s")
	const even = "4 of 4 alive, 1 may fail; add or remove a voter: 4 tolerate no more failures than 3"
	until(t, "status and member list say that the number of voters is even", func() bool {
		status, _, _ := command(t, at(members[1]), "status")
		list, _, _ := command(t, at(members[1]), "member", "list")
		return strings.Contains(status, "Voters          "+even) && strings.Contains(list, "Voters: "+even)
	})
	for _, m := range append(members, stays) {
		m.logs("level=WARN", `msg="number of voters is even`, "voters=4 may_fail=1")
	}
	if again := listed(t, members[0], lead.name).GetId(); again != id || leader(t, members) != lead {
		t.Error("the leader changed, although nothing failed")
	}
}

// TestIgnoredSettingIsNamed starts a member of an old cluster with a setting for a new one.
func TestIgnoredSettingIsNamed(t *testing.T) {
	t.Parallel()
	m := startCluster(t, 1)[0]
	m.stop()
	m.start("--initial-max-window", "30m").untilIssues()
	m.logs("level=WARN", `msg="initial setting ignored, because the cluster has another value; run the command to change it"`,
		"given=30m0s cluster=10m0s", `command="snowraft config set --max-window 30m0s"`)
	if _, stderr, code := command(t, at(m), "config", "set", "--max-window", "30m0s"); code != 0 {
		t.Errorf("the command that the warning names: %s", stderr)
	}
}
