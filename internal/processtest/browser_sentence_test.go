//go:build browser

package processtest

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/skew"
)

const sentence = "#verdict"

// The sentence follows each fault within two seconds.
func TestSentenceFollowsTheLeader(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	rest := others(members, first)
	b := newTab(t)
	b.open(rest[0].consoleOf())
	b.says(patience, sentence, "3 of 3 members issue")
	b.says(patience, sentence, first.name+" leads")

	first.kill()
	t.Logf("a killed leader shows after %v", b.says(current, sentence, "does not answer"))
	second := leader(t, rest)
	b.says(current, sentence, second.name+" leads")

	first.start()
	first.untilIssues()
	b.says(current, sentence, "3 of 3 members issue")

	// Two of three are gone.
	for _, m := range others(members, rest[0]) {
		m.kill()
	}
	t.Logf("a lost quorum shows after %v", b.says(current, sentence, "Quorum is lost"))
	if !eval[bool](b, `document.querySelector("#verdict").classList.contains("bad") && !!document.querySelector('#verdict a[href^="/console/runbook#"]')`) {
		t.Error("the page does not lead to the runbook")
	}
}

func TestSentenceFollowsAClock(t *testing.T) {
	if err := skew.Check(); err != nil {
		t.Skip(err)
	}
	members := newCluster(t, 3)
	c := members[2]
	var clock *skew.Clock
	c.launch = func(cmd *exec.Cmd) (err error) {
		clock, err = skew.Start(cmd, 0)
		return err
	}
	for _, m := range members {
		m.start()
	}
	t.Cleanup(func() { _ = clock.Close() })
	for _, m := range members {
		m.untilIssues()
	}
	b := newTab(t)
	b.open(members[0].consoleOf())
	b.says(patience, sentence, "3 of 3 members issue")
	if err := clock.Set(-5 * time.Second); err != nil {
		t.Fatal(err)
	}
	t.Logf("a clock that was set back shows after %v", b.says(current, sentence, "2 of 3 members issue"))
	b.says(current, "#member-"+c.name, "Issues no IDs")
	if !eval[bool](b, `!!document.querySelector('#verdict a[href^="/console/runbook#clock-"]')`) {
		t.Errorf("the page does not lead to the runbook: %s", eval[string](b, "document.getElementById('verdict').outerHTML"))
	}
	if err := clock.Set(0); err != nil {
		t.Fatal(err)
	}
	b.says(10*time.Second, sentence, "3 of 3 members issue")
}

func TestSentenceFollowsARemovedMember(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	rest := others(members, first)
	b := newTab(t)
	b.open(first.consoleOf())
	b.says(patience, sentence, "3 of 3 members issue")
	_, stderr, code := command(t, at(first), "member", "remove", rest[0].name)
	if code != 0 {
		t.Fatal(stderr)
	}
	t.Logf("a removed member is gone after %v", b.says(current, sentence, "2 of 2 members issue"))
	if eval[bool](b, "!!document.getElementById("+quote("member-"+rest[0].name)+")") {
		t.Error("the table has the removed member")
	}
}

// The page says that it is cut off, since when, and connects again.
func TestPageSaysThatItIsCutOff(t *testing.T) {
	members := startCluster(t, 1)
	m := members[0]
	b := newTab(t)
	b.open(m.consoleOf())
	if text := b.text("#link"); text != "" {
		t.Errorf("a connected page says %q", text)
	}
	m.signal(syscall.SIGSTOP)
	t.Logf("a silent member shows after %v", b.says(current, "#link", "Disconnected since "))
	m.signal(syscall.SIGCONT)
	b.connected()

	b.expect("console/stream")
	m.kill()
	t.Logf("a killed member shows after %v", b.says(current, "#link", "Disconnected since "))
	m.start()
	m.untilIssues()
	b.connected()
	b.says(patience, sentence, m.name+" issues IDs")
}

// connected waits until the page says nothing about its connection.
func (b *tab) connected() {
	b.t.Helper()
	last := ""
	defer func() {
		if b.t.Failed() {
			b.t.Logf("the page says %q", last)
		}
	}()
	within(b.t, patience, "the page is connected", func() bool {
		last = b.text("#link")
		return last == ""
	})
}
