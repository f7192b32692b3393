//go:build browser

package processtest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

const sentence = "#verdict"

// The sentence follows each fault within two seconds.
func TestSentenceFollowsTheLeader(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	rest := others(members, first)
	b := newTab(t)
	b.open(rest[0].consoleOf())
	b.says(sentence, "3 of 3 members are issuing")
	b.says(sentence, first.name+" leads")

	first.kill()
	t.Logf("a killed leader shows after %v", b.saysWithin(current, sentence, first.name+" is down"))
	second := leader(t, rest)
	b.saysWithin(current, sentence, second.name+" leads")
	// Gossip has not noticed yet, and no part of the page shows the member as reachable.
	b.saysWithin(current, "#member-"+first.name, first.api+" refuses connections")
	if text := b.text("#member-" + first.name); !strings.Contains(text, "Down") || strings.Contains(text, " left") {
		t.Errorf("the row of a member that is down says %q", text)
	}
	if text := b.text(sentence); strings.Contains(text, "gossip") || !strings.Contains(text, "Start "+first.name) && !strings.Contains(text, "start "+first.name) {
		t.Errorf("the page says %q", text)
	}

	first.start()
	first.untilIssues()
	b.saysWithin(current, sentence, "3 of 3 members are issuing")

	// Two of three members are down.
	for _, m := range others(members, rest[0]) {
		m.kill()
	}
	t.Logf("a lost quorum shows after %v", b.saysWithin(current, sentence, "Quorum is lost: "))
	if !eval[bool](b, `document.querySelector("#verdict").classList.contains("bad") && !!document.querySelector('#verdict a[href^="./console/runbook#"]')`) {
		t.Error("the page does not link to the runbook")
	}
}

func TestSentenceFollowsAClock(t *testing.T) {
	skipWithoutClocks(t)
	members := newCluster(t, 3)
	c := members[2]
	clock := startWithClock(t, members)
	b := newTab(t)
	b.open(members[0].consoleOf())
	b.says(sentence, "3 of 3 members are issuing")
	if err := clock.Set(-5 * time.Second); err != nil {
		t.Fatal(err)
	}
	t.Logf("a clock that was set back shows after %v", b.saysWithin(current, sentence, "2 of 3 members are issuing"))
	b.saysWithin(current, "#member-"+c.name, "Issues no IDs")
	if !eval[bool](b, `!!document.querySelector('#verdict a[href^="./console/runbook#clock-"]')`) {
		t.Errorf("the page does not link to the runbook: %s", eval[string](b, "document.getElementById('verdict').outerHTML"))
	}
	if err := clock.Set(0); err != nil {
		t.Fatal(err)
	}
	b.says(sentence, "3 of 3 members are issuing")
}

// A member whose clock is an hour ahead still shows the time that is left of windows.
func TestLanesOfAMemberWithAWrongClock(t *testing.T) {
	skipWithoutClocks(t)
	members := newCluster(t, 3)
	c := members[2]
	clock := startWithClock(t, members)
	b := newTab(t)
	b.open(c.consoleOf())
	b.says(sentence, "3 of 3 members are issuing")
	if err := clock.Set(time.Hour); err != nil {
		t.Fatal(err)
	}
	b.saysWithin(current, sentence, "2 of 3 members are issuing IDs")
	b.says("#now-lanes", "left")
	if text := b.text("#now-lanes"); strings.Contains(text, "over") || strings.Contains(text, "No window") {
		t.Errorf("lanes of a member whose clock is ahead: %q", text)
	}
}

func TestSentenceFollowsARemovedMember(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	rest := others(members, first)
	b := newTab(t)
	b.open(first.consoleOf())
	b.says(sentence, "3 of 3 members are issuing")
	_, stderr, code := command(t, at(first), "member", "remove", rest[0].name)
	if code != 0 {
		t.Fatal(stderr)
	}
	t.Logf("a removed member is gone after %v", b.saysWithin(current, sentence, "2 of 2 members are issuing"))
	if eval[bool](b, "!!document.getElementById("+quote("member-"+rest[0].name)+")") {
		t.Error("the table has the removed member")
	}
}

// A transfer of leadership is not an outage of the cluster or of a member.
func TestSentenceFollowsATransfer(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	rest := others(members, first)
	for _, m := range []*member{rest[0], first, rest[1]} {
		b := newTab(t)
		b.open(m.consoleOf())
		b.says(sentence, "3 of 3 members are issuing")
		eval[any](b, `window.said = new Set(); new MutationObserver(() => said.add(document.querySelector("#verdict h1").innerText))
			.observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true }); 0`)
		to := others(members, leader(t, members))[0]
		if _, stderr, code := command(t, at(m), "leader", "transfer", to.name); code != 0 {
			t.Fatal(stderr)
		}
		t.Logf("seen by %s, a transfer shows after %v", m.name, b.saysWithin(current, sentence, to.name+" leads"))
		for _, text := range eval[[]string](b, "[...said]") {
			t.Log(text)
			if strings.Contains(text, "reaches no leader") || strings.Contains(text, "Quorum is lost") || strings.Contains(text, "not answer") {
				t.Errorf("during the transfer, the page says %q", text)
			}
		}
	}
}

// A disconnected page shows the time since the disconnection, and connects again.
func TestPageShowsDisconnection(t *testing.T) {
	members := startCluster(t, 1)
	m := members[0]
	b := newTab(t)
	b.open(m.consoleOf())
	if text := b.text("#link"); text != "" {
		t.Errorf("a connected page says %q", text)
	}
	stopped := time.Now()
	m.signal(syscall.SIGSTOP)
	t.Logf("a silent member shows after %v", b.saysWithin(current, "#link", "Disconnected since "))
	if since, ok := disconnectedSince(b.text("#link"), stopped); !ok || since.Before(stopped.Add(-time.Duration(current))) || since.After(time.Now()) {
		t.Errorf("the page says %q, want the time %v", b.text("#link"), stopped.UTC())
	}
	if !eval[bool](b, `document.body.classList.contains("old")`) {
		t.Error("old facts look like new ones")
	}
	m.signal(syscall.SIGCONT)
	b.connected()
	if eval[bool](b, `document.body.classList.contains("old")`) {
		t.Error("new facts look like old ones")
	}

	b.expect(m.http)
	m.kill()
	t.Logf("a killed member shows after %v", b.saysWithin(current, "#link", "Disconnected since "))
	m.start()
	m.untilIssues()
	b.connected()
	b.says(sentence, m.name+" is issuing IDs")
}

// A page in a hidden tab sends no requests. It is current again as soon as a person sees it.
func TestHiddenPagesSendNoRequests(t *testing.T) {
	m := startCluster(t, 1)[0]
	b := newTab(t)
	b.open(m.consoleOf())
	requests := func() string {
		t.Helper()
		for line := range strings.Lines(pageOf(t, m.consoleOf()+"metrics")) {
			if strings.HasPrefix(line, `snowraft_requests_total{`) && strings.Contains(line, `method="GET /"`) {
				return line
			}
		}
		return ""
	}
	hide := func(hidden bool) {
		t.Helper()
		eval[any](b, fmt.Sprintf(`Object.defineProperty(document, "hidden", { value: %v, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); 0`, hidden))
	}
	first := requests()
	until(t, "the page sends a request", func() bool { return requests() != first })
	hide(true)
	pass(t, time.Second) // until the last answer
	last := requests()
	pass(t, time.Duration(current))
	if now := requests(); now != last {
		t.Errorf("a hidden page sends requests: %s after %s", now, last)
	}
	hide(false)
	if text := b.text("#link"); text != "" {
		t.Errorf("a page that is shown again says %q at once", text)
	}
	until(t, "the page sends a request again", func() bool { return requests() != last })
	within(t, current, "the page is current", func() bool { return !eval[bool](b, `document.body.classList.contains("old")`) })
}

// disconnectedSince returns the time of day in a page's text, on the given day.
func disconnectedSince(text string, day time.Time) (time.Time, bool) {
	_, rest, ok := strings.Cut(text, "Disconnected since ")
	if !ok || len(rest) < len(time.TimeOnly) {
		return time.Time{}, false
	}
	at, err := time.Parse(time.DateTime, day.UTC().Format(time.DateOnly)+" "+rest[:len(time.TimeOnly)])
	return at, err == nil
}

// connected waits until the page shows no text about its connection.
func (b *tab) connected() {
	b.t.Helper()
	last := ""
	defer func() {
		if b.t.Failed() {
			b.t.Logf("the page says %q", last)
		}
	}()
	until(b.t, "the page is connected", func() bool {
		last = b.text("#link")
		return last == ""
	})
}
