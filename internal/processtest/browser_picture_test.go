//go:build browser

package processtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	windowsPath = "console/windows"
	picture     = "#windows-picture"
)

// bars returns the number of bars with the classes.
func (b *tab) bars(classes string) int {
	b.t.Helper()
	return eval[int](b, fmt.Sprintf("document.querySelectorAll(%s).length", quote(".w-rows .w-bar"+classes)))
}

// draws waits until n bars have the classes.
func (b *tab) draws(n int, classes string) {
	b.t.Helper()
	until(b.t, fmt.Sprintf("%d bars are %s", n, classes), func() bool { return b.bars(classes) == n })
}

// drawsWithin is draws within a promised limit. It returns the duration.
func (b *tab) drawsWithin(limit promised, n int, classes string) time.Duration {
	b.t.Helper()
	return within(b.t, limit, fmt.Sprintf("%d bars are %s", n, classes), func() bool { return b.bars(classes) == n })
}

func TestPictureFollowsTheLeader(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	b := newTab(t)
	b.open(others(members, first)[0].consoleOf() + windowsPath)
	b.draws(3, ".member")
	b.says(picture, "3 of its 1,024 workers are held")
	if n := b.bars(".silent"); n != 0 {
		t.Errorf("%d bars of members that do not answer, want 0", n)
	}
	first.untilWindow("default", 3*time.Second) // longer than the restart below takes
	first.kill()
	t.Logf("a killed leader shows after %v", b.drawsWithin(current, 1, ".silent"))
	const row = `document.querySelector(".w-bar.silent").closest(".w-row").innerText`
	until(t, "the row of the killed member says down", func() bool { // "no answer" before the members agree
		text := eval[string](b, row)
		return strings.Contains(text, "member "+first.name) && strings.Contains(text, "down")
	})
	b.saysWithin(current, picture, "Member "+first.name+" does not answer, so its clock is unknown")
	if n := eval[int](b, `document.querySelectorAll(".w-lines .w-clock").length`); n != 2 {
		t.Errorf("%d clocks, want those of the 2 members that answer", n)
	}
	// The window of the killed process stays reserved, and the new process acquires another worker.
	first.start()
	first.untilIssues()
	b.saysWithin(current, picture, "4 of its 1,024 workers are held")
	b.drawsWithin(current, 0, ".silent")

	// Quorum is lost: the remaining member continues in its window, and the windows of the others stay reserved.
	rest := others(members, first)
	rest[1].kill()
	first.kill()
	t.Logf("a lost quorum shows after %v", b.drawsWithin(current, 1, ".member:not(.silent)"))
	b.saysWithin(current, sentence, "Quorum is lost: ")
	if text := eval[string](b, `document.querySelector(".w-bar.member:not(.silent)").closest(".w-row").innerText`); !strings.Contains(text, "member "+rest[0].name) {
		t.Errorf("the row of the remaining member is %q", text)
	}
}

func TestPictureFollowsAClock(t *testing.T) {
	skipWithoutClocks(t)
	members := newCluster(t, 3)
	c := members[2]
	clock := startWithClock(t, members)
	b := newTab(t)
	b.open(members[0].consoleOf() + windowsPath)
	b.draws(3, ".member")
	// SVG has no innerText.
	const label = `[...document.querySelectorAll(".w-label.off")].map((l) => l.textContent).join()`
	const line = `[...document.querySelectorAll(".w-lines .w-clock.off")].map((l) => parseFloat(l.getAttribute("x1"))).join()`
	if text := eval[string](b, label); text != "" {
		t.Errorf("clocks that are off: %q", text)
	}
	if err := clock.Set(-5 * time.Second); err != nil {
		t.Fatal(err)
	}
	took := within(t, current, "the clock that was set back has a label", func() bool {
		return strings.HasPrefix(eval[string](b, label), "clock of "+c.name+": ")
	})
	t.Logf("a clock that was set back shows after %v: %q at %s %%", took, eval[string](b, label), eval[string](b, line))
	b.saysWithin(current, picture, "not issuing")
	if err := clock.Set(0); err != nil {
		t.Fatal(err)
	}
	until(t, "all clocks are correct", func() bool { return eval[string](b, label) == "" })
}

// A member whose clock is an hour ahead still shows that windows are held, and the time that is left of them.
func TestPictureOfAMemberWithAWrongClock(t *testing.T) {
	skipWithoutClocks(t)
	members := newCluster(t, 3)
	c := members[2]
	clock := startWithClock(t, members)
	b := newTab(t)
	b.open(c.consoleOf() + windowsPath)
	b.draws(3, ".member:not(.past)")
	if err := clock.Set(time.Hour); err != nil {
		t.Fatal(err)
	}
	b.saysWithin(current, sentence, "2 of 3 members are issuing")
	b.drawsWithin(current, 3, ".member:not(.past)")
	b.saysWithin(current, picture, "3 of its 1,024 workers are held now")
	b.open(c.consoleOf())
	b.says("#now-lanes", "left")
	if text := b.text("#now-lanes"); strings.Contains(text, "over") || strings.Contains(text, "No window") {
		t.Errorf("lanes of a member whose clock is ahead: %q", text)
	}
}

func TestPictureFollowsARemovedMember(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	gone := others(members, first)[0]
	b := newTab(t)
	b.open(first.consoleOf() + windowsPath)
	b.draws(3, ".member")
	if _, stderr, code := command(t, at(first), "member", "remove", gone.name); code != 0 {
		t.Fatal(stderr)
	}
	t.Logf("a removed member is gone after %v", b.drawsWithin(current, 2, ".member:not(.past)"))
	if text := b.text(picture); strings.Contains(text, "member "+gone.name) {
		t.Errorf("the picture has the removed member: %q", text)
	}
}

// A focused bar shows its details, and keeps the focus while the picture moves. The table contains the data of the bars.
func TestPictureShowsDetails(t *testing.T) {
	m := startCluster(t, 3)[0]
	b := newTab(t)
	b.shape(1280, "light")
	b.open(m.consoleOf() + windowsPath)
	b.draws(3, ".member")
	until(t, "a bar has the focus", func() bool {
		b.do(chromedp.KeyEvent(kb.Tab))
		return eval[bool](b, `document.activeElement.classList.contains("w-bar")`)
	})
	eval[any](b, `window.had = document.activeElement; window.x = had.querySelector(".cap").getAttribute("x1"); 0`)
	const tip = `[...document.querySelectorAll(".w-tip")].filter((e) => e.checkVisibility()).map((e) => e.innerText.replace(/\s+/g, " ")).join("|")`
	text := eval[string](b, tip)
	for _, want := range []string{"Holder member ", "Fencing token ", "From ", "Until ", "State held"} {
		if !strings.Contains(text, want) {
			t.Errorf("the details are %q, want %q in them", text, want)
		}
	}
	until(t, "the bar moves", func() bool { return eval[bool](b, `had.querySelector(".cap").getAttribute("x1") !== x`) })
	if !eval[bool](b, `document.activeElement === had && had.isConnected`) || eval[string](b, tip) == "" {
		t.Error("an update took the focus or the details from the bar")
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	if text := eval[string](b, tip); text != "" || !eval[bool](b, `document.activeElement === had`) {
		t.Errorf("Escape leaves the details %q, or takes the focus", text)
	}
	eval[any](b, `window.x = had.querySelector(".cap").getAttribute("x1"); 0`)
	until(t, "the bar moves again", func() bool { return eval[bool](b, `had.querySelector(".cap").getAttribute("x1") !== x`) })
	if text := eval[string](b, tip); text != "" {
		t.Errorf("an update shows the dismissed details %q", text)
	}
	for _, step := range []struct {
		key  string
		want int
	}{{kb.ArrowDown, 1}, {kb.End, -1}, {kb.Home, 0}, {kb.ArrowUp, 0}} {
		b.do(chromedp.KeyEvent(step.key))
		if at := fmt.Sprintf(`[...document.querySelectorAll(".w-rows .w-bar")].at(%d)`, step.want); !eval[bool](b, `document.activeElement === `+at) || eval[string](b, tip) == "" {
			t.Errorf("key %q: the focus is on %s", step.key, eval[string](b, "document.activeElement.outerHTML.slice(0, 200)"))
		}
	}
	// The pointer can move over the details, and Escape hides them too.
	x, y := eval[float64](b, `had.getBoundingClientRect().x + 20`), eval[float64](b, `had.getBoundingClientRect().y + 5`)
	eval[any](b, `document.activeElement.blur(); 0`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	until(t, "the pointer shows details", func() bool { return eval[string](b, tip) != "" })
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y+26))
	if eval[string](b, tip) == "" {
		t.Error("the details vanish under the pointer")
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	if text := eval[string](b, tip); text != "" {
		t.Errorf("Escape leaves the details %q under the pointer", text)
	}
	eval[any](b, `window.x = had.querySelector(".cap").getAttribute("x1"); 0`)
	until(t, "the bar moves below the pointer", func() bool { return eval[bool](b, `had.querySelector(".cap").getAttribute("x1") !== x`) })
	if text := eval[string](b, tip); text != "" {
		t.Errorf("after Escape, the row below the hidden details shows %q", text)
	}
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y+27))
	until(t, "a movement shows details again", func() bool { return eval[string](b, tip) != "" })
	eval[any](b, `document.activeElement.blur(); document.querySelector(".w-table").open = true; 0`)
	const differ = `(() => {
		const table = [...document.querySelectorAll("#windows-table table:first-of-type tbody tr")].map((r) => [...r.children].slice(0, 6).map((c) => c.textContent));
		const bars = [...document.querySelectorAll(".w-rows .w-bar")].map((b) => b.getAttribute("aria-label"));
		return bars.filter((label) => !table.some(([w, holder, token, state, from, until]) =>
			label === w.toLowerCase() + ", " + holder + ", fencing token " + token + ", from " + from + " until " + until + ", " + state)).join("\n");
	})()`
	until(t, "the table has the data of the bars", func() bool { return eval[string](b, differ) == "" })
	if rows := eval[int](b, `document.querySelectorAll("#windows-table table:first-of-type tbody tr").length`); rows < 3 {
		t.Errorf("the table has %d rows, want at least 3", rows)
	}
}

// The page decodes an ID and shows the window of the member that issued it.
func TestIDPageShowsTheWindow(t *testing.T) {
	members := startCluster(t, 3)
	m := members[1]
	stdout, stderr, code := command(t, at(m), "id")
	if code != 0 {
		t.Fatal(stderr)
	}
	id := strings.TrimSpace(stdout)
	b := newTab(t)
	for _, shape := range []struct {
		width int64
		theme string
	}{{360, "dark"}, {1280, "light"}} {
		b.shape(shape.width, shape.theme)
		b.open(members[0].consoleOf() + "console/id")
		b.do(chromedp.SendKeys("input[name=id]", id+kb.Enter))
		b.says("#whois h2", "Only member "+m.name+", lane 0 could issue this ID")
		b.says("main", "snowraft whois "+id)
		if at := eval[string](b, "location.search"); !strings.Contains(at, "id="+id) {
			t.Errorf("the page is at %s, want the ID in its address", at)
		}
		if got := eval[int64](b, "document.documentElement.scrollWidth"); got > shape.width {
			t.Errorf("the page is %d px wide on a screen of %d", got, shape.width)
		}
	}
}
