//go:build process

package processtest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is the part of a documentation page that the test runs.
type page struct {
	steps []step
	// program is the Go program of the page; empty if it has none.
	program string
	files   map[string]string // YAML files, which a comment names
}

// fileName matches the comment that names a YAML file.
var fileName = regexp.MustCompile(`(?m)^# ([a-z]+\.yaml)$`)

// step is a command, its output, and the kinds of values that vary in the output.
type step struct {
	command, output string
	varies          []string
}

// parsePage finds the console blocks of a page, and its program. A comment above a block
// may name the kinds of values that vary: <!-- varies: id uuid -->.
func parsePage(text string) (page, error) {
	var (
		p             = page{files: make(map[string]string)}
		inside, yaml  string
		varies, above []string
		empty         bool
	)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case inside == "" && strings.HasPrefix(line, "```"):
			inside, empty = strings.TrimPrefix(line, "```"), true
			varies, above = above, nil
			if inside == "go" && p.program != "" {
				inside = "another program" // the first program is the page's
			}
			if inside == "" {
				inside = "text"
			}
		case inside == "":
			if kinds, ok := strings.CutPrefix(line, "<!-- varies: "); ok {
				above = strings.Fields(strings.TrimSuffix(kinds, " -->"))
			} else if above != nil {
				return p, errors.New("a comment about varying values is not directly above its block")
			}
		case line == "```":
			if empty && inside == "console" {
				return p, errors.New("a console block has no command")
			}
			if name := fileName.FindStringSubmatch(yaml); inside == "yaml" && name != nil {
				p.files[name[1]] = yaml
			}
			inside, yaml = "", ""
		case inside == "yaml":
			yaml += line + "\n"
		case inside == "go":
			p.program += line + "\n"
		case inside != "console":
		case isCommand:
			p.steps, empty = append(p.steps, step{command: command, varies: varies}), false
		case empty:
			return p, fmt.Errorf("a console block begins with %q, which is not a command", line)
		default:
			p.steps[len(p.steps)-1].output += line + "\n"
		}
	}
	return p, nil
}

// kinds matches the values that may vary.
var kinds = map[string]*regexp.Regexp{
	"id":         regexp.MustCompile(`\b[1-9][0-9]{17}\b`),
	"fiscal":     regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}\b`),
	"week":       regexp.MustCompile(`\b20[0-9]{2}-W[0-5][0-9]\b`),
	"generation": regexp.MustCompile(`"generation":"[1-9][0-9]*"`),
	"year":       regexp.MustCompile(`\b20[0-9]{2}\b`),
	"ms":         regexp.MustCompile(`\b1[0-9]{12}\b`), // Unix milliseconds
	"uuid":       regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`),
}

// variables maps the values on a page to the values in the outputs so far. A varying
// value must have its form and its place. It must compare to the other values
// of its kind as on the page: equal, less or greater.
type variables struct {
	shown, printed map[string][]string // values by kind; equal indices belong together
}

func newVariables() *variables {
	return &variables{make(map[string][]string), make(map[string][]string)}
}

// compare compares the output on a page with the printed output.
func (v *variables) compare(varies []string, shown, printed string) error {
	wrong := fmt.Errorf("prints\n%s\nwant\n%s", printed, shown)
	for _, kind := range varies {
		form := kinds[kind]
		if form == nil {
			return fmt.Errorf("unknown kind of values %q", kind)
		}
		want, got := form.FindAllString(shown, -1), form.FindAllString(printed, -1)
		if len(want) != len(got) {
			return wrong
		}
		shown, printed = form.ReplaceAllString(shown, kind), form.ReplaceAllString(printed, kind)
		for i := range want {
			for j, before := range v.shown[kind] {
				if strings.Compare(want[i], before) != strings.Compare(got[i], v.printed[kind][j]) {
					return fmt.Errorf("%w\n%s does not compare to %s as %s to %s", wrong, got[i], v.printed[kind][j], want[i], before)
				}
			}
			v.shown[kind], v.printed[kind] = append(v.shown[kind], want[i]), append(v.printed[kind], got[i])
		}
	}
	if shown != printed {
		return wrong
	}
	return nil
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	files, err := parsePage("```yaml\n# a.yaml\na: 1\n```\n```yaml\nb: 1\n```\n")
	if err != nil || len(files.files) != 1 || files.files["a.yaml"] != "# a.yaml\na: 1\n" {
		t.Errorf("parsePage() = %+v, %v", files, err)
	}
	p, err := parsePage("```console\n$ a\n1\n$ b\n```\n```text\n$ no\n```\n<!-- varies: id uuid -->\n```console\n$ c\nx\ny\n```\n```go\npackage main\n```\n```go\nmore\n```\n")
	if err != nil || len(p.steps) != 3 || p.program != "package main\n" {
		t.Fatalf("parsePage() = %+v, %v", p, err)
	}
	if s := p.steps[0]; s.command != "a" || s.output != "1\n" || s.varies != nil {
		t.Errorf("first step = %+v", s)
	}
	if s := p.steps[2]; s.output != "x\ny\n" || !slices.Equal(s.varies, []string{"id", "uuid"}) {
		t.Errorf("last step = %+v", s)
	}
	for _, bad := range []string{"```console\n1\n```\n", "```console\n```\n", "<!-- varies: id -->\ntext\n"} {
		if _, err := parsePage(bad); err == nil {
			t.Errorf("parsePage(%q) = nil, want an error", bad)
		}
	}
}

func TestCompareVaryingValues(t *testing.T) {
	t.Parallel()
	const a, b, c = "249718711965978626", "249718711965978627", "249718711965978628"
	for _, e := range []struct {
		varies, shown, printed string
		ok                     bool
	}{
		{"", a, a, true},
		{"", a, b, false},
		{"id", a, b, true},
		{"id", a + "\n" + b, b + "\n" + c, true},
		{"id", a + "\n" + b, c + "\n" + b, false},
		{"id", a + "\n" + b, c + "\n" + c, false},
		{"id", a + "\n" + a, b + "\n" + c, false},
		{"id", a, b + "\n" + c, false},
		{"id", a, "", false},
		{"id", a, "12", false},
		{"id", a + " 1", b + " 2", false},
		{"ids", a, a, false},
	} {
		if err := newVariables().compare(strings.Fields(e.varies), e.shown, e.printed); (err == nil) != e.ok {
			t.Errorf("compare(%+v) = %v", e, err)
		}
	}
}
