package console_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/console"
)

// ListSequenceViews returns two pages, whose names repeat the request.
func (c *cluster) ListSequenceViews(_ context.Context, req *snowraftv1.ListSequenceViewsRequest) (*snowraftv1.ListSequenceViewsResponse, error) {
	c.mu.Lock()
	err := c.failing
	c.mu.Unlock()
	if err != nil {
		return nil, rpcError(err)
	}
	resp := &snowraftv1.ListSequenceViewsResponse{TotalSize: 100_000}
	if req.GetNameContains() == "nothing" {
		return resp, nil
	}
	resp.Sequences = []*snowraftv1.SequenceView{
		{
			Sequence:       &snowraftv1.Sequence{Name: "o'r<b>ders", Last: new(int64(999_000)), Remaining: 999, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Increment: new(int64(1))},
			RemainingRatio: new(0.000999), GrantedPerSecond: new(9.99), RateOverMs: 10_000,
		},
		{Sequence: &snowraftv1.Sequence{Name: req.GetOrderBy(), LastAtMost: new(int64(-5)), Remaining: 1 << 62}},
		{Sequence: &snowraftv1.Sequence{Name: "-frozen", Frozen: true, Remaining: 5}, RemainingRatio: new(0.5)},
		{
			Sequence:       &snowraftv1.Sequence{Name: "daily", Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_QUARTERLY, YearStarts: "04-06", Increment: new(int64(-1))},
			RemainingRatio: new(1.0), PeriodOver: true, PeriodEndsAtMs: 1_800_000_000_000,
		},
		{Sequence: &snowraftv1.Sequence{Name: "gone"}, RemainingRatio: new(0.0)},
		{Sequence: &snowraftv1.Sequence{Name: "away", LastAtMost: new(int64(9))}, RemainingRatio: new(0.0)},
	}
	if req.GetPageToken() == "" {
		resp.NextPageToken = "a~b&c"
	}
	return resp, nil
}

func TestSequencesShowStateAndCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	page := r.ask("GET", "/console/sequences", "").Body.String()
	r.wants(page, "o&#39;r&lt;b&gt;ders", ">remaining<", "999\u202f000", "&lt; 0.1 %", "1 min 40 s at this rate", "Few numbers left",
		"no end", "up to −5", "Frozen by a restore", "snowraft seq resume -- -frozen --after N --holders-stopped", "New period begins with the next number", "Quarterly, years start 04-06",
		"period ended 2027-01-15 08:00:00 UTC", "snowraft seq update daily --min N", "No numbers left", "All numbers are in blocks", "6 of 100\u202f000 sequences",
		`snowraft seq update &#39;o&#39;\&#39;&#39;r&lt;b&gt;ders&#39; --max N`, `href="../console/sequences?after=a~b%26c"`, `href="../console/sequences?sort=name"`, "!First page")
	page = r.ask("GET", "/console/sequences?q=<b>&sort=name&after=x", "").Body.String()
	r.wants(page, ">name<", `value="&lt;b&gt;"`, "First page", "!Next page", `href="../console/sequences?q=%3Cb%3E"`, `name="sort" value="name"`,
		`data-again="../console/sequences?q=&lt;b&gt;&amp;sort=name&amp;after=x"`)
	r.wants(r.ask("GET", "/console/sequences?q=nothing", "").Body.String(), "No sequence has a name that contains “nothing”", "There are 100\u202f000 sequences")
}

// ListEvents returns events that repeat the request.
func (c *cluster) ListEvents(_ context.Context, req *snowraftv1.ListEventsRequest) (*snowraftv1.ListEventsResponse, error) {
	c.mu.Lock()
	c.listed++
	held := c.held
	c.mu.Unlock()
	<-time.After(held)
	election := func(member string, number uint64, at int64) *snowraftv1.Event {
		return &snowraftv1.Event{
			AtMs: at, FirstAtMs: at, Member: member, MemberId: "id-" + member, Number: number, Count: 1, Text: "c leads in term 4",
			Kind: snowraftv1.EventKind_EVENT_KIND_ELECTION, Severity: snowraftv1.EventSeverity_EVENT_SEVERITY_INFO,
		}
	}
	const at = 1_800_000_000_000
	resp := &snowraftv1.ListEventsResponse{UnreachedMembers: []string{"c"}, Events: []*snowraftv1.Event{
		{
			AtMs: at, FirstAtMs: at - 5000, Member: "b", Count: 1200, Reason: "CLOCK_BEHIND", Text: "requests failed: CLOCK_BEHIND",
			Kind: snowraftv1.EventKind_EVENT_KIND_REFUSAL, Severity: snowraftv1.EventSeverity_EVENT_SEVERITY_WARNING,
		},
		election("b", 2, at-1000), election("a", 2, at-2000), election("b", 1, at-3000), election("a", 1, at-60_000),
		{
			AtMs: at - 70_000, Member: "a", Count: 1, Actor: "open", Address: "10.0.0.7:4711", Text: fmt.Sprintf("asked for %v of %q after %q", req.GetKinds(), req.GetMember(), req.GetPageToken()),
			Kind: snowraftv1.EventKind_EVENT_KIND_ADMINISTRATION,
		},
	}}
	if req.GetPageToken() == "" {
		resp.NextPageToken = "1~2~3"
	}
	return resp, nil
}

func TestEventsShowReportsOfMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	page := r.ask("GET", "/console/events", "").Body.String()
	r.wants(page, "The list lacks the events of members that do not answer: c", "1\u202f200 times since 07:59:55", `href="../console/runbook#clock-behind"`,
		"by an unknown caller, because the cluster is open, at 10.0.0.7:4711", "snowraft events -f", "<span>a, b</span>",
		"asked for [] of &#34;&#34; after &#34;&#34;", `href="../console/events?after=1~2~3"`, "!First page")
	r.wants(page, "!Metadata:")
	if rows := strings.Count(page, `<tr role="row" id="event-`); rows != 5 {
		t.Errorf("%d rows, want 5: reports of one event by two members are one row", rows)
	}
	page = r.ask("GET", "/console/events?kind=denial&member=%3Cx%3E&after=z", "").Body.String()
	r.wants(page, "asked for [denial] of &#34;&lt;x&gt;&#34; after &#34;z&#34;", `<option value="denial" selected>Denial</option>`,
		`<option value="&lt;x&gt;" selected>`, "snowraft events -f --kind denial --member &#39;&lt;x&gt;&#39;", `href="../console/events?kind=denial&amp;member=%3Cx%3E"`, "First page")
}

// Every heading of the runbook that events link to exists.
func TestAdviceLeadsToTheRunbook(t *testing.T) {
	t.Parallel()
	page := newRig(t).ask("GET", "/console/runbook", "").Body.String()
	anchors := console.AdviceAnchors()
	if len(anchors) < 10 {
		t.Errorf("anchors %q", anchors)
	}
	for _, anchor := range anchors {
		if !regexp.MustCompile(`<h[2-4] id="` + anchor + `"`).MatchString(page) {
			t.Errorf("the runbook has no heading %q", anchor)
		}
	}
}

func TestPercentIsExactAtItsEnds(t *testing.T) {
	t.Parallel()
	for part, want := range map[float64]string{0: "0 %", 1: "100 %", 1e-9: "< 0.1 %", 1 - 1e-9: "> 99.9 %", 0.0123: "1.2 %", 0.5: "50 %", 0.0999: "10.0 %", 0.98: "98 %", 0.994: "99.4 %", 0.995: "99.5 %", 0.999: "99.9 %", math.Inf(1): "100 %"} {
		if got := console.Percent(part); got != want {
			t.Errorf("%v is %q, want %q", part, got, want)
		}
	}
}
