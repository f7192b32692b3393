package top

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// line is a line of a view: its text, and its style on a terminal with colors; nil means plain.
type line struct {
	text string
	look func(string) string
}

// view returns a scene as lines of at most width columns; 0 means no limit. cut is the reason why the scene is old; empty for a
// current one.
func view(now scene, cut string, width int, s cli.Style) (all []line) {
	o := now.Overview
	if cut != "" {
		all = append(all, wrap("No view since "+clockOf(o.GetComposedAtMs())+" UTC: "+cut, width, s.Red)...)
		all = append(all, line{})
	}
	look := s.Green
	if o.GetVerdict().GetLevel() != snowraftv1.VerdictLevel_VERDICT_LEVEL_GOOD {
		look = s.Red
	}
	all = append(all, wrap(o.GetVerdict().GetSentence(), width, func(text string) string { return s.Bold(look(text)) })...)
	about := fmt.Sprintf("as %s sees the cluster at %s UTC", o.GetComposedBy(), clockOf(o.GetComposedAtMs()))
	if o.GetObservedClockAtMs() != 0 {
		about += fmt.Sprintf("; term %d; observed clock %s", o.GetTerm(), clockOf(o.GetObservedClockAtMs()))
	}
	all = append(all, wrap(about, width, s.Faint)...)
	if len(o.GetMembers()) > 0 {
		all = append(all, line{})
		all = append(all, memberTable(o).lines(width, s)...)
	}
	if lanes := laneTable(o); len(lanes.rows) > 0 {
		all = append(all, line{})
		all = append(all, lanes.lines(width, s)...)
	}
	all = append(all, now.lines(o.GetComposedAtMs(), width, s)...)
	for i, f := range o.GetVerdict().GetFindings() {
		if i == 0 {
			all = append(all, line{})
		}
		all = append(all, finding(f, width, s)...)
	}
	return all
}

// finding returns the lines about a finding.
func finding(f *snowraftv1.Finding, width int, s cli.Style) []line {
	text := cli.Word(f.GetLevel()) + ": " + f.GetText()
	if f.GetLevel() == snowraftv1.VerdictLevel_VERDICT_LEVEL_GOOD {
		text = "note: " + f.GetText()
	}
	all := wrap(text, width, nil)
	var do []string
	for _, part := range []string{f.GetAction(), f.GetCommand()} {
		if part != "" {
			do = append(do, part)
		}
	}
	if f.GetRunbook() != "" {
		do = append(do, "docs/runbook.md#"+f.GetRunbook())
	}
	if len(do) > 0 {
		all = append(all, wrap("  "+strings.Join(do, "; "), width, s.Faint)...)
	}
	return all
}

func memberTable(o *snowraftv1.Overview) table {
	t := table{columns: []column{
		{"MEMBER", 0}, {"ROLE", 3}, {"STATE", 0}, {"SERVE UNTIL", 1}, {"LEFT", 1}, {"CLOCK", 2},
		{"IDS/S", 4}, {"NUMBERS/S", 5}, {"REFUSED/S", 6}, {"TLS", 8}, {"VERSION", 9}, {"SEEN", 7},
	}}
	for _, m := range o.GetMembers() {
		role := cli.Word(m.GetMember().GetRole())
		if m.GetMember().GetLeader() {
			role = "leader"
		}
		row := []string{m.GetMember().GetName(), role, state(m)}
		if m.GetSeenAtMs() == 0 {
			t.rows = append(t.rows, append(row, "", "", "", "", "", "", "", m.GetMember().GetVersion(), unseen(m.GetMember(), o.GetComposedAtMs())))
			continue
		}
		until, left := untilOf(m.GetServesUntilAtMs(), o.GetComposedAtMs())
		t.rows = append(t.rows, append(row, until, left, cli.Offset(m.GetClockOffsetMs()),
			rate(m.IdsPerSecond), rate(m.NumbersPerSecond), rate(m.RefusalsPerSecond), map[bool]string{true: "on", false: "off"}[m.GetEncrypted()],
			m.GetMember().GetVersion(), ago(o.GetComposedAtMs()-m.GetSeenAtMs())))
	}
	return t
}

func laneTable(o *snowraftv1.Overview) table {
	t := table{columns: []column{{"MEMBER", 0}, {"LAYOUT", 0}, {"LANE", 2}, {"WORKER", 1}, {"SERVE UNTIL", 0}, {"LEFT", 0}, {"PROBLEM", 3}}}
	for _, m := range o.GetMembers() {
		for _, l := range m.GetLanes() {
			worker := ""
			if l.GetToken() != 0 {
				worker = cli.Decimal(l.GetWorker())
			}
			until, left := untilOf(l.GetServeUntilAtMs(), o.GetComposedAtMs())
			switch {
			case m.GetDown():
				until, left = "down", ""
			case l.GetIdle():
				until, left = "idle", ""
			}
			t.rows = append(t.rows, []string{m.GetMember().GetName(), l.GetLayout(), cli.Decimal(uint64(l.GetLane())), worker, until, left, cli.OneLine(l.GetProblem())})
		}
	}
	return t
}

// state returns the word for a member's ability to issue IDs.
func state(m *snowraftv1.MemberView) string {
	switch {
	case m.GetDown():
		return "down"
	case !m.GetAnswers():
		return "no answer"
	case m.GetProblem() != "":
		return "refuses"
	default:
		return "issues"
	}
}

// untilOf returns a time, and the time left until then.
func untilOf(at, now int64) (until, left string) {
	switch {
	case at == 0:
		return "", ""
	case at <= now:
		return clockOf(at), "ended"
	default:
		return clockOf(at), (time.Duration(at-now) * time.Millisecond).Truncate(time.Second).String()
	}
}

func clockOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.TimeOnly) }

func ago(ms int64) string {
	if ms < 2000 { // members are queried once per second
		return "now"
	}
	return (time.Duration(ms) * time.Millisecond).Truncate(time.Second).String() + " ago"
}

// unseen returns for how long gossip has not reached a member that has not answered yet.
func unseen(m *snowraftv1.Member, now int64) string {
	if m.GetAlive() || m.GetNotAliveSinceAtMs() == 0 {
		return "not lately"
	}
	return "not for " + (time.Duration(max(0, now-m.GetNotAliveSinceAtMs())) * time.Millisecond).Truncate(time.Second).String()
}

func rate(perSecond *float64) string {
	if perSecond == nil {
		return ""
	}
	return fmt.Sprintf("%.0f", *perSecond)
}

// column is a column of a table. A table that is too wide drops the column with the highest rank first; rank 0 stays.
type column struct {
	title string
	rank  int
}

type table struct {
	columns []column
	rows    [][]string
}

// lines returns the table at a width; an empty cell is a dash.
func (t table) lines(width int, s cli.Style) []line {
	widths := make([]int, len(t.columns))
	total := 0
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]), 1)
		}
		total += widths[i] + gap
	}
	dropped := make([]bool, len(t.columns))
	for width > 0 && total-gap > width {
		drop := 0
		for i, c := range t.columns {
			if !dropped[i] && c.rank > 0 && (dropped[drop] || c.rank > t.columns[drop].rank) {
				drop = i
			}
		}
		if t.columns[drop].rank == 0 || dropped[drop] {
			break
		}
		dropped[drop] = true
		total -= widths[drop] + gap
	}
	text := func(cell func(i int) string) string {
		var b strings.Builder
		for i := range t.columns {
			if !dropped[i] {
				c := cmp.Or(cell(i), "-")
				b.WriteString(c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+gap))
			}
		}
		return shorten(strings.TrimRight(b.String(), " "), width)
	}
	all := []line{{text(func(i int) string { return t.columns[i].title }), s.Bold}}
	for _, row := range t.rows {
		all = append(all, line{text(func(i int) string { return row[i] }), nil})
	}
	return all
}

// gap is the space between columns.
const gap = 2

// wrap breaks a text at spaces. It indents further lines like the first.
func wrap(text string, width int, look func(string) string) []line {
	if width <= 0 {
		return []line{{text, look}}
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var all []line
	at := indent
	for word := range strings.FieldsSeq(text) {
		if at != indent && utf8.RuneCountInString(at)+1+utf8.RuneCountInString(word) > width {
			all = append(all, line{at, look})
			at = indent
		}
		if at != indent {
			at += " "
		}
		at += word
	}
	all = append(all, line{at, look})
	for i := range all {
		all[i].text = shorten(all[i].text, width)
	}
	return all
}

// shorten cuts a text that is too long.
func shorten(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}
