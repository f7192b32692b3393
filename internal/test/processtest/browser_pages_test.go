//go:build browser

package processtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// pageBytes is the greatest size of a page with its assets.
	pageBytes = 150_000
	// pageCost is the longest processor time of a member for a page, together with all that it does meanwhile.
	pageCost = 10 * time.Millisecond
	// listCost is the longest time for a page of a list of 100,000 sequences.
	listCost = 100 * time.Millisecond
)

// paths returns the paths of the console's pages, the runbook last.
func (b *tab) paths(m *member) []string {
	b.t.Helper()
	b.open(m.consoleOf())
	all := eval[[]string](b, `[...document.querySelectorAll("nav a")].map((a) => a.pathname)`)
	if len(all) == 0 || all[0] != "/" {
		b.t.Fatalf("the navigation has %v", all)
	}
	return append(all, "/console/runbook")
}

// lengthen gives the first row of each table and the options of selects the longest possible name, as in clusters where hosts
// have such names.
const lengthen = `for (const e of document.querySelectorAll("tbody tr:first-child th, option")) { e.textContent = "w".repeat(40) + "-" + "x".repeat(84); }`

// brokenWords lists the words of tables that the page breaks into two lines, without those of names and free text.
const brokenWords = `[...document.querySelectorAll("table.cards :is(thead th, td:not(.free))")].flatMap((cell) => {
	const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
	for (let text; (text = texts.nextNode());) {
		if (text.parentElement.closest(".command, .vh")) { continue; }
		for (const word of text.data.matchAll(/\p{L}+/gu)) {
			const range = document.createRange();
			range.setStart(text, word.index);
			range.setEnd(text, word.index + word[0].length);
			if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) { found.push(word[0]); }
		}
	}
	return found;
}).join(" ")`

// Each page fits its screen, in both themes, without errors in the browser's console. Long names break no words of a table.
func TestPagesFitTheirScreens(t *testing.T) {
	m := startCluster(t, 3)[0]
	if _, err := m.numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "orders"}}); err != nil {
		t.Fatal(err)
	}
	m.number(t)
	b := newTab(t)
	for _, path := range append(b.paths(m), "/console/sequence?name=invoices", "/console/windows?layout=legacy", "/docs") {
		for _, width := range []int64{360, 768, 1000, 1280, 1920} {
			for _, theme := range []string{"light", "dark"} {
				b.shape(width, theme)
				b.open(m.consoleOf() + path[1:])
				// Folded elements are part of the page.
				eval[any](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
				// An update of the page would restore the names, so one expression changes and measures them.
				if got := eval[int64](b, lengthen+"document.documentElement.scrollWidth"); got > width {
					wide := eval[string](b, `[...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > innerWidth).slice(-1).map((e) => e.outerHTML)[0] || ""`)
					t.Errorf("%s is %d px wide on a screen of %d: %.300s", path, got, width, wide)
				}
				if got := eval[string](b, lengthen+brokenWords); got != "" {
					t.Errorf("%s breaks words on a screen of %d: %s", path, width, got)
				}
				dark := eval[bool](b, `(([r, g, b]) => r + g + b < 300)(getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number))`)
				if dark != (theme == "dark") {
					t.Errorf("%s in the theme %s: dark is %v", path, theme, dark)
				}
			}
		}
	}
}

// Leaving a page writes no line to the log above the level info.
func TestLeftPagesLogNoError(t *testing.T) {
	m := startCluster(t, 1)[0]
	b := newTab(t)
	for _, path := range b.paths(m) {
		b.open(m.consoleOf() + path[1:])
	}
	b.do(chromedp.Navigate("about:blank"))
	for line := range strings.Lines(m.stderr.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "console") {
			t.Errorf("the member logs %s", line)
		}
	}
}

// The Tab key reaches every link, button, field and fold of a page, the link to the content first. Each one shows the focus.
func TestPagesAreUsedByKeyboard(t *testing.T) {
	m := startCluster(t, 3)[0]
	b := newTab(t)
	b.shape(1280, "light")
	const reachable = `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter((e) => e.checkVisibility() && e.type !== "hidden")`
	for _, path := range b.paths(m) {
		if path == "/console/runbook" {
			continue // plain text with links
		}
		b.open(m.consoleOf() + path[1:])
		eval[any](b, `window.reached = new Set(); document.activeElement.blur(); 0`)
		missed := func() []string {
			return eval[[]string](b, reachable+`.filter((e) => !reached.has(e)).map((e) => e.outerHTML.slice(0, 200))`)
		}
		// Events add elements while the keys are pressed, so up to three rounds may be needed.
		all := eval[int](b, reachable+".length")
		for i := 0; i < all || i < 3*all && len(missed()) > 0; i++ {
			b.do(chromedp.KeyEvent(kb.Tab))
			if i >= all && eval[bool](b, "document.activeElement === document.body") {
				continue // between two rounds
			}
			if i == 0 && !eval[bool](b, `document.activeElement.classList.contains("skip") && document.activeElement.getBoundingClientRect().top >= 0`) {
				t.Errorf("%s: the first key does not reach the link to the content", path)
			}
			if !eval[bool](b, `reached.add(document.activeElement), getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
				t.Errorf("%s: %s does not show the focus", path, eval[string](b, "document.activeElement.outerHTML"))
			}
		}
		if m := missed(); len(m) > 0 {
			t.Errorf("%s: keys do not reach %d of %d: %s", path, len(m), all, m)
		}
	}
}

// The keyboard focus stays in place while the page changes.
func TestFocusOutlivesUpdates(t *testing.T) {
	m := startCluster(t, 3)[0]
	b := newTab(t)
	b.open(m.consoleOf())
	const fold = `document.querySelector("#now-members details")`
	eval[any](b, fold+`.open = true; `+fold+`.querySelector("button").focus(); window.had = document.activeElement; 0`)
	heard := eval[string](b, "document.body.dataset.heard")
	until(t, "the page changes twice", func() bool {
		return eval[string](b, "document.body.dataset.heard") > heard+"" && eval[bool](b, fmt.Sprintf("Number(document.body.dataset.heard) > %s + 2000", heard))
	})
	if !eval[bool](b, `document.activeElement === had && had.isConnected && `+fold+`.open`) {
		t.Error("an update took the focus, or closed the fold")
	}
}

// A page is small, and little stands before its first content: the answer with the page, which costs the member little
// processor time, and its style sheets.
func TestPagesAreQuickAndSmall(t *testing.T) {
	m := startCluster(t, 3)[0]
	b := newTab(t)
	for _, path := range b.paths(m) {
		url := m.consoleOf() + path[1:]
		const pages = 20
		before := m.scheduled().Ran
		for range pages {
			pageOf(t, url)
		}
		cost := (m.scheduled().Ran - before) / pages
		b.open(url)
		blocking := eval[[]string](b, `performance.getEntriesByType("resource").filter((e) => e.renderBlockingStatus === "blocking").map((e) => e.name)`)
		size := eval[int](b, `performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation")).reduce((n, e) => n + e.encodedBodySize, 0)`)
		t.Logf("%s: %v of a processor, %d bytes, painted after %v", path, cost, size, blocking)
		if cost > pageCost {
			t.Errorf("%s takes the member %v of a processor, want at most %v", path, cost, pageCost)
		}
		if size > pageBytes {
			t.Errorf("%s: %d bytes, want at most %d", path, size, pageBytes)
		}
		for _, name := range blocking {
			if len(blocking) > 2 || !strings.HasSuffix(name, ".css") {
				t.Errorf("%s paints after it loaded %s, want at most two style sheets", path, blocking)
			}
		}
		if len(blocking) == 0 {
			t.Errorf("%s: the browser names no style sheet", path)
		}
	}
}

// Without JavaScript, a page is complete and reloads periodically.
func TestPagesWithoutJavaScript(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	m := others(members, first)[0]
	b := newTab(t)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(m.consoleOf()))
	b.says(sentence, "3 of 3 members are issuing")
	if got := eval[int](b, `document.querySelectorAll("#now-members tbody tr").length`); got != 3 {
		t.Errorf("the table has %d members, want 3", got)
	}
	if eval[bool](b, `[...document.querySelectorAll(".copy")].some((e) => e.checkVisibility())`) {
		t.Error("the page has buttons that do nothing")
	}
	first.kill()
	b.saysWithin(currentWithoutScript, sentence, first.name+" is down")
}

// In a secured cluster a form takes a token, and the pages show what the token's rights allow.
func TestSignInToSecuredMembers(t *testing.T) {
	members := newCluster(t, 3, secretFile(t)...)
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	m := members[0]
	token := m.firstToken("viewer", "cluster:read")
	b := newTab(t)
	b.do(chromedp.Navigate(m.consoleOf()))
	b.says("main", "Sign in to see this page")
	b.do(chromedp.SendKeys("#token", "snowraft_1_wrong"+kb.Enter))
	b.expect(m.http)
	b.says("#refused", "oken")
	b.do(chromedp.SendKeys("#token", token+kb.Enter))
	b.says(sentence, "3 of 3 members are issuing")
	b.says(".who", "Token viewer")
	if html := eval[string](b, "document.documentElement.outerHTML"); strings.Contains(html, token[:30]) {
		t.Error("the page has the token")
	}
	if url := eval[string](b, "location.href"); url != m.consoleOf() {
		t.Errorf("the page is at %s, want %s", url, m.consoleOf())
	}
	if seen := eval[string](b, "document.cookie"); seen != "" {
		t.Errorf("scripts see the cookie %s", seen)
	}
	jar, err := chromedp.Call(b.ctx, network.GetCookies, network.GetCookiesParams{})
	if err != nil || len(jar.Cookies) != 1 {
		t.Fatalf("cookies: %v %v", jar, err)
	}
	if c := jar.Cookies[0]; !c.HTTPOnly || !c.Secure || c.SameSite != network.CookieSameSiteStrict || strings.Contains(c.Value, token) {
		t.Errorf("cookie %+v", c)
	}
	if _, stderr, code := command(t, at(m), "token", "delete", "viewer", "--secret-file", *m.secret.Load()); code != 0 {
		t.Fatal(stderr)
	}
	t.Logf("the pages reject a deleted token after %v", b.saysWithin(current, "main", "Sign in to see this page"))
	for _, m := range members {
		if strings.Contains(m.stderr.String(), token[14:40]) {
			t.Errorf("%s logs the token", m.name)
		}
	}
}
