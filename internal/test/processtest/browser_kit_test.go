//go:build browser

package processtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// tab is a page in a headless Chromium. It fails its test for every error in the browser's console, including reports of
// the content security policy.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	expected string // part of ignored errors; empty: no error is ignored
}

// newTab starts a browser, which is closed at the end of the test.
func newTab(t *testing.T) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("install chromium (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.IgnoreCertErrors, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // root cannot use the sandbox
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	pid := chromedp.FromContext(ctx).Browser.Process().Pid
	enter(t, pid)
	t.Cleanup(func() { leave(pid) })
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		<-done
	})
	messages := chromedp.Console(ctx)
	go func() {
		defer close(done)
		for m, err := range messages {
			if err != nil {
				return
			}
			b.console(m)
		}
	}()
	return b
}

func (b *tab) console(m chromedp.ConsoleMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException()
	if bad && (b.expected == "" || !strings.Contains(m.Text+m.URL, b.expected)) {
		b.t.Errorf("browser console: %v (%s)", m, m.URL)
	}
}

// expect makes the tab ignore errors that contain a text, such as errors about a member that a test kills.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = text
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns the value of an expression in the page. If the page makes way for the next one meanwhile, such as after a
// sign-in, the next page evaluates the expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
		if err == nil {
			return v
		}
		if !navigated(err) {
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// navigated reports whether an expression has no value because its page was gone before the browser answered. The
// protocol has one code, -32000, for all errors of servers, so only their texts differ.
func navigated(err error) bool {
	failed, ok := errors.AsType[*cdproto.Error](err)
	return ok && slices.Contains([]string{
		"Inspected target navigated or closed",
		"Execution context was destroyed.",
		"Cannot find context with specified id",
	}, failed.Message)
}

// open shows a page, and waits for the answer to the first request of its script.
func (b *tab) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	if eval[bool](b, "!!document.body.dataset.again") {
		until(b.t, "the page refreshes itself", func() bool { return eval[bool](b, "!!document.body.dataset.heard") })
	}
}

// shape gives the tab a width and a theme, "light" or "dark".
func (b *tab) shape(width int64, theme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, 900))
}

// text returns the text of an element; empty if the element does not exist.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("(document.querySelector(%s) || {}).innerText || ''", quote(selector)))
}

// says waits until an element contains a text.
func (b *tab) says(selector, text string) {
	b.t.Helper()
	until(b.t, fmt.Sprintf("%s says %q", selector, text), b.contains(selector, text))
}

// saysWithin is says within a promised limit. It returns the duration.
func (b *tab) saysWithin(limit promised, selector, text string) time.Duration {
	b.t.Helper()
	return within(b.t, limit, fmt.Sprintf("%s says %q", selector, text), b.contains(selector, text))
}

// contains returns a condition: an element contains a text. If the test fails, it logs the last text of the element.
func (b *tab) contains(selector, text string) func() bool {
	last := ""
	b.t.Cleanup(func() {
		if b.t.Failed() && !strings.Contains(last, text) {
			b.t.Logf("%s says %q", selector, last)
		}
	})
	return func() bool {
		last = b.text(selector)
		return strings.Contains(last, text)
	}
}

// quote returns a text as a JavaScript string literal.
func quote(text string) string {
	raw, _ := json.Marshal(text) // never fails
	return string(raw)
}

// consoleOf returns the address of a member's console.
func (m *member) consoleOf() string {
	if m.secret.Load() != nil {
		return "https://" + m.http + "/"
	}
	return "http://" + m.http + "/"
}
