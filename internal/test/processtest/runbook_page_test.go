//go:build process

package processtest

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// chapter is a section of the runbook: a symptom, the lines that show it, and the commands that fix it.
type chapter struct {
	title  string
	blocks []block
}

// block is a block of "text", the output of a member, or of "console".
type block struct {
	kind  string
	lines []string // lines of a text block
	steps []hostStep
}

// hostStep is a command on a host, or on any host if the page names none.
type hostStep struct {
	host, command, output string
}

var prompt = regexp.MustCompile(`^([a-z]?)\$ (.*)$`)

// parseRunbook returns the chapters by their anchors.
func parseRunbook(text string) (map[string]*chapter, error) {
	chapters := make(map[string]*chapter)
	now, inside := &chapter{}, ""
	var b *block
	continued := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		title, isTitle := strings.CutPrefix(line, "#")
		switch fence, isFence := strings.CutPrefix(line, "```"); {
		case isFence && inside == "":
			inside = fence
			b = &block{kind: fence}
		case isFence:
			if inside == "text" || inside == "console" {
				now.blocks = append(now.blocks, *b)
			}
			inside = ""
		case inside == "" && isTitle:
			title = strings.TrimLeft(title, "# ")
			now = &chapter{title: title}
			chapters[anchorOf(title)] = now
		case inside == "" && strings.HasPrefix(line, ">"):
			return nil, fmt.Errorf("%s: no drill plays the quote %q; make it a block", now.title, line)
		case inside == "text":
			b.lines = append(b.lines, line)
		case inside == "console":
			last := len(b.steps) - 1
			command := prompt.FindStringSubmatch(line)
			switch {
			case continued:
				b.steps[last].command += "\n" + line
			case command != nil:
				b.steps = append(b.steps, hostStep{host: command[1], command: command[2]})
			case last < 0:
				return nil, fmt.Errorf("%s: a block begins with %q, which is not a command", now.title, line)
			default:
				b.steps[last].output += line + "\n"
			}
			continued = strings.HasSuffix(line, "\\") && (continued || command != nil)
		}
	}
	maps.DeleteFunc(chapters, func(_ string, c *chapter) bool { return len(c.blocks) == 0 })
	return chapters, nil
}

func anchorOf(title string) string {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	return strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// Values that differ each time: member IDs, times, durations, numbers from 10 on, the width of columns. … stands for any text.
const (
	uuidForm     = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	timeForm     = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`
	durationForm = `-?(?:\d+(?:\.\d+)?(?:ms|µs|h|m|s))+`
)

var varying = regexp.MustCompile(uuidForm + `|` + timeForm + `|\b` + durationForm + `\b|[+-]?\d[\d,.]*\d\b|  +|…`)

// pattern returns an expression that matches output as the page shows it. The groups are the values of ids, the IDs on the page
// that bound does not have yet.
func pattern(shown string, bound map[string]string) (p *regexp.Regexp, ids []string) {
	var s strings.Builder
	s.WriteString(`(?m)^`)
	at := 0
	for _, place := range varying.FindAllStringIndex(shown, -1) {
		s.WriteString(regexp.QuoteMeta(shown[at:place[0]]))
		value := shown[place[0]:place[1]]
		actual, known := bound[value]
		switch at = place[1]; {
		case known:
			s.WriteString(regexp.QuoteMeta(actual))
		case regexp.MustCompile(`^` + uuidForm + `$`).MatchString(value):
			s.WriteString(`(` + uuidForm + `)`)
			ids = append(ids, value)
		case regexp.MustCompile(`^` + timeForm + `$`).MatchString(value):
			s.WriteString(timeForm)
		case regexp.MustCompile(`^` + durationForm + `$`).MatchString(value):
			s.WriteString(durationForm)
		case value == "…":
			s.WriteString(`.*`)
		case strings.TrimLeft(value, " ") == "":
			s.WriteString(` +`)
		default:
			s.WriteString(`[+-]?[\d,.]+`)
		}
	}
	s.WriteString(regexp.QuoteMeta(shown[at:]))
	if !strings.HasSuffix(shown, "\n…") {
		s.WriteString("$")
	}
	// A line with only … stands for any lines.
	form := strings.ReplaceAll(s.String()+"\n", "\n.*\n", "\n(?:.*\n)*?")
	return regexp.MustCompile(strings.TrimSuffix(form, "\n")), ids
}

// match reports whether the printed text contains the shown text, and records in bound the ID that each shown ID stands for.
func match(shown, printed string, bound map[string]string) bool {
	p, ids := pattern(shown, bound)
	found := p.FindStringSubmatch(printed)
	if found == nil {
		return false
	}
	for i, id := range ids {
		if actual, known := bound[id]; known && actual != found[i+1] {
			return false
		}
		bound[id] = found[i+1]
	}
	return true
}

func TestParseRunbook(t *testing.T) {
	t.Parallel()
	chapters, err := parseRunbook("# Page\n```sh\nx\n```\n## No leader, `Z`\n```text\nlevel=WARN a\n```\n```console\n$ a\n1\nb$ c \\\n  d\n```\n## Other\ntext\n")
	if err != nil || len(chapters) != 1 {
		t.Fatalf("parseRunbook() = %v, %v", chapters, err)
	}
	c := chapters["no-leader-z"]
	if c == nil || len(c.blocks) != 2 || !slices.Equal(c.blocks[0].lines, []string{"level=WARN a"}) {
		t.Fatalf("chapter = %+v", c)
	}
	if got := c.blocks[1].steps; len(got) != 2 || got[0] != (hostStep{"", "a", "1\n"}) || got[1] != (hostStep{"b", "c \\\n  d", ""}) {
		t.Errorf("steps = %+v", got)
	}
	if _, err := parseRunbook("## A\n> snowraft: b\n"); err == nil || !strings.Contains(err.Error(), `"> snowraft: b"`) {
		t.Errorf("parseRunbook() of a quote = %v, want an error with the quote", err)
	}
	const a, b = "d4fc8ea9-036e-4270-89ed-3d9d60cf0e63", "e72305d4-4226-462e-b5f0-b76f0e897d1c"
	for _, e := range []struct {
		shown, printed string
		ok             bool
	}{
		{"no leader for 12s: b", "no leader for 3s: b", true},
		{"no leader for 12s: b", "no leader for 3s: c", false},
		{"quorum needs 2 of 3", "quorum needs 2 of 5", false},
		{"at 2026-11-23T10:00:00Z", "at 2027-11-23T10:00:00.123Z", true},
		{"term 12", "term 3", true},
		{"behind 5,000 ms", "behind 4,990 ms", true},
		{a + " " + a, b + " " + b, true},
		{a + " " + b, b + " " + b, true}, // an ID under two names is not checked
		{a + " " + a, a + " " + b, false},
		{"a … z", "a b c z", true},
		{"NAME  ROLE", "NAME      ROLE", true},
		{"a", "ab", false},
		{"a\n…\nb", "a\n1\n2\nb", true},
		{"a\n…\nb", "a\nb", true},
		{"a\n…\nb", "a\n1\nbc", false},
		{"…\nb", "a\nb", true},
		{"a\n…", "a\nb\nc", true},
	} {
		bound := make(map[string]string)
		ok := match(e.shown, e.printed, bound)
		if again := match(e.shown, e.printed, bound); again != ok {
			t.Errorf("match(%q, %q) = %t, and then %t", e.shown, e.printed, ok, again)
		}
		if ok != e.ok {
			t.Errorf("match(%q, %q) = %t, want %t", e.shown, e.printed, ok, e.ok)
		}
	}
}

// readRunbook returns the chapters of the page and its text.
func readRunbook(t *testing.T) (map[string]*chapter, string) {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	chapters, err := parseRunbook(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return chapters, string(raw)
}
