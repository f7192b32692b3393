//go:build process

package processtest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
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

// leaderLogs waits until one of the members, the leader at that time, has logged a line that contains all parts.
func leaderLogs(t *testing.T, members []*member, parts ...string) {
	t.Helper()
	until(t, "the leader logs "+strings.Join(parts, " … "), func() bool {
		return slices.ContainsFunc(members, func(m *member) bool { return m.logged(parts...) })
	})
}

// TestTrialMemberGetsNoVote starts a fourth member for some seconds. It must not become a voter, and a member that stays must.
func TestTrialMemberGetsNoVote(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3, "--promote-after", "8s") // longer than the trial
	lead, unchanged := leader(t, members), steady(t, members)
	for _, m := range members {
		m.logs("level=INFO", `msg="leader changed"`, "leader="+lead.name)
		m.logs("level=INFO", `msg="voters changed"`, "voters=3 alive=3 tolerates=1")
	}
	if _, stderr, code := command(t, at(members[0]), "config", "set", "--max-window", "20m"); code != 0 {
		t.Fatal(stderr)
	}
	leaderLogs(t, members, "level=INFO", `msg="configuration changed"`, "fields=[max_window_ms]", "actor=open")

	trial := newcomer(t, "trial", members).start()
	trial.untilIssues()
	if voters, nonvoters := members[0].voters(); voters != 3 || nonvoters != 1 {
		t.Errorf("%d voters and %d nonvoters with a member that has just started, want 3 and 1", voters, nonvoters)
	}
	leaderLogs(t, members, "level=INFO", `msg="member joined as nonvoter"`, "peer=trial", "actor=leader")
	trial.kill()
	leaderLogs(t, members, "component=raft", "peer=trial@")
	until(t, "member list shows the time of the trial member's loss", func() bool {
		stdout, _, _ := command(t, at(members[0]), "member", "list")
		return strings.Contains(stdout, "nonvoter       no, since 20") && strings.Contains(stdout, "Voters: 3 of 3 alive; tolerates one failure\n")
	})

	// A member that joins later and stays becomes the fourth voter, and the trial member does not.
	stays := newcomer(t, "stays", members).start()
	leaderLogs(t, members, "level=INFO", `msg="member promoted to voter"`, "peer=stays", "actor=leader", "healthy_for=8s")
	until(t, "four members vote, and the trial member does not", func() bool {
		voters, nonvoters := members[0].voters()
		return voters == 4 && nonvoters == 1
	})
	if _, stderr, code := command(t, at(members[0]), "member", "remove", "trial"); code != 0 {
		t.Fatal(stderr)
	}
	leaderLogs(t, members, "level=INFO", `msg="member removed"`, "peer=trial", "actor=open")

	// All views show that four voters are no better than three.
	stays.untilVoters(4)
	const even = "4 of 4 alive; tolerates one failure; add or remove a voter, unless a nonvoter is about to be promoted: 4 tolerate no more failures than 3"
	until(t, "status and member list show that the number of voters is even", func() bool {
		status, _, _ := command(t, at(members[1]), "status")
		list, _, _ := command(t, at(members[1]), "member", "list")
		return strings.Contains(status, "Voters          "+even) && strings.Contains(list, "Voters: "+even)
	})
	unchanged()
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
		t.Errorf("the command in the warning failed: %s", stderr)
	}
}

// readyz returns the answer of a member's /readyz.
func (m *member) readyz() (status int, body string) {
	resp, err := http.Get("http://" + m.http + "/readyz") //nolint:noctx // a test's own member
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// explains waits until a member that cannot issue IDs shows the reason in its log, its status and /readyz.
func (m *member) explains(line, reason string) {
	m.t.Helper()
	m.logs(line, reason)
	until(m.t, m.name+" shows in its status that "+reason, func() bool {
		text, _, _ := command(m.t, at(m), "status")
		return strings.Contains(text, reason)
	})
	until(m.t, m.name+" shows in /readyz that "+reason, func() bool {
		code, body := m.readyz()
		return code == http.StatusServiceUnavailable && strings.Contains(body, reason)
	})
}

// TestWaitingMembersLogTheReason starts a member that reaches no seed, and members that wait for each other.
func TestWaitingMembersLogTheReason(t *testing.T) {
	t.Parallel()
	const line = `level=INFO msg="cluster not joined; retrying"`
	nowhere := []string{freeport.Address(t), freeport.Address(t)}
	lost := newMember(t, "lost", "--join", strings.Join(nowhere, ",")).start()
	lost.explains(line, fmt.Sprintf("no member reached; %s: connection refused; %s: connection refused", nowhere[0], nowhere[1]))
	until(t, "the line comes again", func() bool { return strings.Count(lost.stderr.String(), line) > 1 })
	if took := time.Since(lost.began); took < 12*time.Second {
		t.Errorf("the second line came after %v, want one line per 10 s", took)
	}

	members := newCluster(t, 3)
	members[0].start().explains(line, fmt.Sprintf("1 of 3 members seen: m1; waiting for 2 more; %s: connection refused; %s: connection refused",
		members[1].gossip, members[2].gossip))
	members[1].start().explains(line, "2 of 3 members seen: m2 and m1; waiting for 1 more; "+members[2].gossip+": connection refused")
	members[2].start()
	for _, m := range members {
		m.untilIssues()
		if code, body := m.readyz(); code != http.StatusOK {
			t.Errorf("%s issues IDs, and /readyz answers %d: %s", m.name, code, body)
		}
	}
}

// TestLostQuorumIsExplained kills one of three members and stops another one. The third member names both, with the reasons.
func TestLostQuorumIsExplained(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	survivor := members[0]
	members[1].kill()
	members[2].signal(syscall.SIGSTOP)
	const reason = "m2 and m3 do not answer (connection refused, timed out); quorum needs 2 of 3 voters"
	survivor.logs(`level=WARN msg="leader unknown; waiting for an election"`, `reason="no leader for `, reason)
	_, stderr, code := command(t, at(survivor), "config", "set", "--max-window", "20m")
	if code != 3 || !strings.Contains(stderr, "no leader for ") || !strings.Contains(stderr, reason) || !strings.Contains(stderr, "[NO_LEADER]") {
		t.Errorf("config set without a leader: exit code %d: %s", code, stderr)
	}
	_, stderr, _ = command(t, at(survivor), "leader", "get")
	if !strings.Contains(stderr, reason) {
		t.Errorf("leader get without a leader: %s", stderr)
	}
	until(t, "status names the voters that do not answer", func() bool {
		status, _, _ := command(t, at(survivor), "status")
		_, leader, _ := strings.Cut(status, "Leader ")
		leader, _, _ = strings.Cut(leader, "\n")
		return strings.Contains(leader, "no leader for ") && strings.Contains(leader, reason)
	})
	until(t, "member list shows the times of both losses", func() bool {
		list, _, _ := command(t, at(survivor), "member", "list")
		return strings.Count(list, "no, since 20") == 2 && strings.Contains(list, "Voters: 1 of 3 alive; quorum needs 2\n")
	})
	survivor.logs("level=WARN", `msg="voters lost; quorum needs more"`, "voters=3 alive=1 tolerates=0 needed=2")
	if lines := strings.Count(survivor.stderr.String(), "leader unknown"); lines > 1+int(time.Since(survivor.began)/(10*time.Second)) {
		t.Errorf("%d lines about one outage within %v, want at most one per 10 s", lines, time.Since(survivor.began))
	}

	members[2].signal(syscall.SIGCONT)
	lead := leader(t, []*member{survivor, members[2]})
	if s := survivor.status(); s.GetNoLeader() != "" {
		t.Errorf("%s leads, and %s reports: %s", lead.name, survivor.name, s.GetNoLeader())
	}
}
