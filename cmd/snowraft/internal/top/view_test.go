package top

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func overview(members int) *snowraftv1.Overview {
	o := &snowraftv1.Overview{ComposedBy: "a", ComposedAtMs: 1792419138123, ObservedClockAtMs: 1792419138000, Verdict: &snowraftv1.Verdict{
		Level: snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD, Sentence: "Quorum is lost: b and c do not answer a; start b and c; do not restart the others.",
		Findings: []*snowraftv1.Finding{{Level: snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD, Text: strings.Repeat("long ", 40), Action: "start b", Runbook: "no-leader"}},
	}}
	for i := range members {
		o.Members = append(o.Members, &snowraftv1.MemberView{
			Member:   &snowraftv1.Member{Name: fmt.Sprintf("mémber-%d", i), Role: snowraftv1.MemberRole_MEMBER_ROLE_VOTER, Version: "v1.2.3"},
			SeenAtMs: 1792419138000, Answers: true, ServesUntilAtMs: 1792419538000, IdsPerSecond: new(100_000.0),
			Lanes: []*snowraftv1.Lane{{Layout: "default", Token: 1, ServeUntilAtMs: 1792419538000, Problem: strings.Repeat("no ", 30)}},
		})
	}
	return o
}

// A view fits its width, and the most important columns stay.
func TestViewFitsTheWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 10, 30, 40, 60, 80, 120, 300} {
		all := view(scene{Overview: overview(3)}, "b:7700: no answer", width, cli.Style{})
		for _, l := range all {
			if n := utf8.RuneCountInString(l.text); n > width {
				t.Errorf("width %d: a line of %d: %q", width, n, l.text)
			}
		}
		got := text(all, "\n")
		for title, from := range map[string]int{"MEMBER": 10, "STATE": 30, "SERVE UNTIL": 60, "CLOCK": 60, "IDS/S": 80, "VERSION": 120, "PROBLEM": 300} {
			if shown := strings.Contains(got, title); width >= from && !shown {
				t.Errorf("width %d lacks %s:\n%s", width, title, got)
			}
		}
	}
	if got := text(view(scene{Overview: overview(1)}, "", 0, cli.Style{}), "\n"); !strings.Contains(got, strings.Repeat("no ", 29)+"no\n") {
		t.Errorf("without a width, the problem is cut:\n%s", got)
	}
}

// The lanes of a member that is down show no remaining time.
func TestViewOfAMemberThatIsDown(t *testing.T) {
	t.Parallel()
	o := overview(2)
	o.Members[0].Answers, o.Members[0].Down, o.Members[0].ServesUntilAtMs = false, true, 0
	for l := range strings.SplitSeq(text(view(scene{Overview: o}, "", 0, cli.Style{}), "\n"), "\n") {
		if strings.HasPrefix(l, "mémber-0") && (!strings.Contains(l, " down ") || strings.Contains(l, "14:18")) {
			t.Errorf("the line of a member that is down: %q", l)
		}
		if strings.HasPrefix(l, "mémber-1") && strings.Contains(l, " down ") {
			t.Errorf("the line of a member that runs: %q", l)
		}
	}
}

func TestViewOfAMemberThatHasNotAnswered(t *testing.T) {
	t.Parallel()
	o := overview(1)
	m := o.GetMembers()[0]
	m.Answers, m.SeenAtMs, m.Member.Alive = false, 0, true
	seen := func() string {
		for l := range strings.SplitSeq(text(view(scene{Overview: o}, "", 0, cli.Style{}), "\n"), "\n") {
			if strings.HasPrefix(l, "mémber-0") {
				return l
			}
		}
		return ""
	}
	if got := seen(); !strings.HasSuffix(got, "v1.2.3   not lately") {
		t.Errorf("a new member: %q", got)
	}
	m.Member.Alive, m.Member.NotAliveSinceAtMs = false, o.GetComposedAtMs()-65_900
	if got := seen(); !strings.HasSuffix(got, "not for 1m5s") {
		t.Errorf("a lost member: %q", got)
	}
}

// A frame clears the previous frame line by line, and is never higher than the terminal.
func TestFrameFitsTheHeight(t *testing.T) {
	t.Parallel()
	for _, height := range []int{2, 10, 24, 1000} {
		got := frame(view(scene{Overview: overview(30)}, "", 80, cli.Style{Colours: true}), height)
		if !strings.HasPrefix(got, home) || !strings.HasSuffix(got, rest) {
			t.Errorf("height %d: the frame is %q", height, got)
		}
		if n := strings.Count(got, endLine); n >= height || strings.Count(got, "\n") != n {
			t.Errorf("height %d: %d lines", height, n)
		}
		if cut := strings.Contains(got, "more with -n 1"); cut != (height < 1000) {
			t.Errorf("height %d: cut: %v", height, cut)
		}
	}
}
