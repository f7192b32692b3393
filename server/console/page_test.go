package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/console"
)

func TestNowShowsSentenceMembersAndLanes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	page := r.ask("GET", "/", "").Body.String()
	r.wants(page, "3 of 3 members are issuing IDs", `class="verdict good"`, `id="member-a"`, "leads</span>", "this member",
		"Voter", ">encrypted<", "snowraft leader transfer", "snowraft member remove c", `data-left="1800000500000"`,
		`data-again="./"`, "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>", "!Sign in", "!data-copy=\"\"")
	if strings.Count(page, "<h1") != 1 {
		t.Error("the page has no heading, or several")
	}
}

func TestNowShowsFindings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := healthy()
	o.Verdict.Level = snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD
	o.Verdict.Findings = []*snowraftv1.Finding{{
		Level: snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD, Text: "No <b>leader</b>.", Action: "Start b.",
		Command: "systemctl start 'snowraft'", Runbook: "no-leader",
	}}
	c := o.Members[2]
	c.Answers, c.Problem, c.IdsPerSecond, c.ClockOffsetMs = false, "connection refused", proto.Float64(777), 777
	o.Members[1].ClockOffsetMs = 2000
	r.cluster.set(o, nil)
	page := r.ask("GET", "/", "").Body.String()
	r.wants(page, `class="verdict bad"`, "No &lt;b&gt;leader&lt;/b&gt;.", "Start b.", "systemctl start &#39;snowraft&#39;",
		`href="./console/runbook#no-leader"`, "Does not answer", "Connection refused", `class="clock over"`, "2 s",
		"!777") // the last status of a member that does not answer is outdated
	r.wants(page, "<h1>", `<span role="status">`, "!<h1 role") // a role replaces that of the heading
}

// The observed clock moves about once per second, and so lags a little. Its tile appears only when an operator may act on it.
func TestObservedClockInStepIsHidden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for ahead, want := range map[int64]string{-988: "!Observed clock", -60_000: "!Observed clock", 500: "!Observed clock", 501: "snowraft clock reset"} {
		o := healthy()
		o.ObservedClockAtMs = o.GetComposedAtMs() + ahead
		r.cluster.set(o, nil)
		r.wants(r.ask("GET", "/", "").Body.String(), want, "IDs per second")
	}
}

// The action is right below the sentence, so the sentence shows it only to screen readers.
func TestNowShowsTheActionOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := healthy()
	o.Verdict.Level = snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD
	o.Verdict.Sentence = "Quorum is lost; a is issuing IDs; start b and c; do not restart a."
	o.Verdict.Findings = []*snowraftv1.Finding{{Level: o.GetVerdict().GetLevel(), Text: "quorum is lost", Action: "start b and c; do not restart a"}}
	r.cluster.set(o, nil)
	r.wants(r.ask("GET", "/", "").Body.String(), `Quorum is lost<span class="rest">; a is issuing IDs.</span><span class="vh"> To do: start b and c; do not restart a.</span>`,
		"To do: start b and c; do not restart a.")
	r.wants(r.ask("GET", "/console/id", "").Body.String(), "Quorum is lost; a is issuing IDs; start b and c; do not restart a.")
	o.Verdict.Sentence = "Quorum is lost; start b and c; do not restart a."
	r.cluster.set(o, nil)
	r.wants(r.ask("GET", "/", "").Body.String(), `Quorum is lost<span class="vh">. To do: start`)
}

// A member that was already lost when the first viewer came has not answered this process, but gossip knows since when.
func TestNowShowsSinceWhenAMemberIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := healthy()
	c := o.Members[2]
	c.Answers, c.SeenAtMs, c.Problem, c.Down = false, 0, "is down: c:7700 refuses connections", true
	r.cluster.set(o, nil)
	r.wants(r.ask("GET", "/", "").Body.String(), "none lately", "!none since")
	c.Member.Alive, c.Member.NotAliveSinceAtMs = false, o.GetComposedAtMs()-65_000
	r.cluster.set(o, nil)
	r.wants(r.ask("GET", "/", "").Body.String(), `none since <time datetime="2027-01-15T07:58:55.000Z">07:58:55</time>`, "!none lately")
}

func TestNowNamesTheMemberBehindAGateway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants(r.ask("GET", "/", "").Body.String(), "this member</span>", "!answers the gateway")
	r = newRig(t, func(cfg *console.Config) { cfg.What = "gateway" })
	r.wants(r.ask("GET", "/", "").Body.String(), "answers the gateway</span>", "!this member</span>")
}

// A member that has not joined a cluster knows neither leader nor quorum.
func TestNowShowsTheUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cluster.set(&snowraftv1.Overview{ComposedBy: "g", ComposedAtMs: 1_800_000_000_000}, nil)
	r.wants(r.ask("GET", "/", "").Body.String(), "<dt>Leader</dt><dd>unknown</dd>", "<dt>Quorum</dt><dd>unknown</dd>",
		"!0 of 0 voters")
}

func TestNowWithoutOverviewShowsReason(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cluster.set(nil, rpc.NewError(rpc.NoLeader, "no member answers this gateway"))
	w := r.ask("GET", "/", "")
	r.wants(w.Body.String(), "This page has nothing to show now", "No member answers this gateway.", "data-again")
	if w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
}

// Only a browser would show what the policy forbids.
func TestPagesKeepTheirPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	forbidden := regexp.MustCompile(`<script>|<style|\sstyle=|\son[a-z]+=|javascript:|(?:src|action)="https?:`)
	for _, path := range []string{"/", "/console/sequences", "/console/events", "/console/runbook"} {
		w := r.ask("GET", path, "")
		page, h := w.Body.String(), w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %v", path, w.Code, h)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s: %s", path, name, h.Get(name))
			}
		}
		policy := h.Get("Content-Security-Policy")
		r.wants(policy, "default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "!unsafe", "!*", "!http", "!data:")
		if found := forbidden.FindString(page); found != "" {
			t.Errorf("%s has %q", path, found)
		}
	}
}

func TestPathsKeepTheirMethods(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, want := range map[string]string{
		"/": "GET HEAD", "/console/sequences": "GET HEAD", "/console/events": "GET HEAD", "/console/runbook": "GET HEAD", "/console/session": "POST",
	} {
		var got []string
		for _, method := range []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"} {
			switch w := r.ask(method, path, ""); w.Code {
			case 200, 303:
				got = append(got, method)
			case 405:
				if allow := strings.ReplaceAll(w.Header().Get("Allow"), ",", ""); allow != want {
					t.Errorf("%s %s: Allow: %q, want %q", method, path, allow, want)
				}
			default:
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s takes %s, want %s", path, got, want)
		}
	}
	if w := r.ask("GET", "/console", ""); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "./" {
		t.Errorf("/console: %d %v", w.Code, w.Header())
	}
	for _, path := range []string{"/console/", "/console/none", "/console/assets/", "/console/assets/x/console.cs", "/console/assets/x/y/console.css"} {
		if w := r.ask("GET", path, ""); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestRunbookHasAnchorsOfItsHeadings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	page := r.ask("GET", "/console/runbook", "").Body.String()
	r.wants(page, `id="no-leader"`, `id="clock-behind"`, `<table>`, "<pre><code", "!raw HTML", "!<!-- varies",
		`href="#no-leader"`, `href="https://github.com/snowraft/snowraft/blob/main/docs/operate.md"`)
}
