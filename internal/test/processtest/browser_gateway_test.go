//go:build browser

package processtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// A gateway shows each page like a member.
func TestPagesOfAGateway(t *testing.T) {
	members := startCluster(t, 3)
	g := startGateway(t, "g1", members...)
	if _, err := members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "orders"}}); err != nil {
		t.Fatal(err)
	}
	resp, err := members[0].generate("", 1)
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	for _, width := range []int64{360, 1280} {
		b.shape(width, "dark")
		b.open(g.consoleOf())
		b.says(sentence, "3 of 3 members are issuing")
		b.says("footer", "Served by a gateway.")
		b.says("#now-members", members[2].name)
		b.open(g.consoleOf() + windowsPath)
		b.says("#windows-list", "member "+members[2].name+", lane 0")
		b.open(g.consoleOf() + fmt.Sprintf("console/id?id=%d", resp.GetRanges()[0].GetFirst()))
		b.says("#whois h2", "Only member "+members[0].name+", lane 0 could issue this ID")
		b.open(g.consoleOf() + "console/sequences")
		b.says("#sequences-list", "orders")
		b.open(g.consoleOf() + "console/events")
		b.says("#events-list", "was elected leader")
		b.open(g.consoleOf() + "console/runbook")
		b.says("h1", "Runbook")
	}
}

// Through a gateway, the sentence reports a killed leader, and the loss of all members, in plain words.
func TestSentenceOfAGateway(t *testing.T) {
	members := startCluster(t, 3)
	g := startGateway(t, "g1", members...)
	b := newTab(t)
	b.open(g.consoleOf())
	b.says(sentence, "3 of 3 members are issuing")
	first := leader(t, members)
	first.kill()
	t.Logf("a killed leader shows behind a gateway after %v", b.saysWithin(2*current, sentence, first.name+" is down"))
	b.saysWithin(2*current, sentence, leader(t, others(members, first)).name+" leads")
	for _, m := range others(members, first) {
		m.kill()
	}
	t.Logf("the loss of all members shows behind a gateway after %v", b.saysWithin(2*current, "#link", "No member answers gateway g1"))
	if !eval[bool](b, `document.body.classList.contains("old")`) {
		t.Error("old facts look like new ones")
	}
	first.start()
	b.says(sentence, "Quorum is lost")
}

// A gateway of secured members has a form for the viewer's own token.
func TestSignInAtAGateway(t *testing.T) {
	m := newCluster(t, 1)[0].secured(trust.NewSecret()).start()
	m.untilIssues()
	own, token := m.firstToken("gateway", "tokens:verify", "ids:issue:*"), m.firstToken("viewer", "cluster:read")
	g := newMember(t, "g1")
	g.gateway([]string{"SNOWRAFT_TOKEN=" + own}, m)
	b := newTab(t)
	b.expect(g.http) // refused pages have the status 4xx
	b.do(chromedp.Navigate(g.consoleOf()))
	b.says("main", "Sign in to see this page")
	b.do(chromedp.SendKeys("#token", "snowraft_1_wrong"+kb.Enter))
	b.says("#refused", "oken")
	b.do(chromedp.SendKeys("#token", token+kb.Enter))
	b.says(sentence, m.name+" is issuing IDs")
	b.says(".who", "Token viewer")
	b.open(g.consoleOf() + windowsPath)
	b.says("#windows-list", "member "+m.name+", lane 0")
	b.do(chromedp.Navigate(g.consoleOf() + "console/sequences"))
	b.says("main", "Your token does not show this page")
	b.do(chromedp.Click(".who button"))
	b.says("main", "Sign in to see this page")
	if strings.Contains(g.stderr.String(), token[14:40]) {
		t.Error("the gateway logs the token")
	}
}
