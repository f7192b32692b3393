//go:build install && linux

package installtest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// step is a command of the page, the machines that its prompt names, and the output that the page shows.
type step struct {
	section         string // title
	machines        []string
	command, output string
}

var (
	heading = regexp.MustCompile(`^##+ (.*)$`)
	prompt  = regexp.MustCompile(`^([a-d]+)# (.*)$`)
)

// parse returns the commands of the console blocks of a page, in order. A prompt such as "abc# " names the machines that a
// command runs on. Lines that begin with "> " continue a command. Blocks may be indented.
func parse(text string) ([]step, error) {
	var (
		steps   []step
		section string
		inside  string // kind of block
		indent  string // indentation of the block
		fresh   bool   // no command in this block yet
	)
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), indent)
		if kind, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "```"); ok {
			if inside == "" {
				inside, fresh, indent = "block "+kind, true, line[:strings.Index(line, "`")]
				continue
			}
			indent = ""
			if inside == "block console" && fresh {
				return nil, fmt.Errorf("%s: a console block has no command", section)
			}
			inside = ""
			continue
		}
		if inside == "" {
			if m := heading.FindStringSubmatch(line); m != nil {
				section = m[1]
			}
			continue
		}
		if inside != "block console" {
			continue
		}
		if m := prompt.FindStringSubmatch(line); m != nil {
			steps, fresh = append(steps, step{section: section, machines: strings.Split(m[1], ""), command: m[2]}), false
			continue
		}
		if fresh {
			return nil, fmt.Errorf("%s: a console block begins with %q, which is not a command", section, line)
		}
		last := &steps[len(steps)-1]
		if more, ok := strings.CutPrefix(line, "> "); ok && last.output == "" {
			last.command += "\n" + more
		} else {
			last.output += line + "\n"
		}
	}
	return steps, nil
}

// matches reports whether a command printed the output that the page shows. IDs may differ, and "…" stands for any text.
func matches(shown, printed string) bool {
	p := regexp.QuoteMeta(shown)
	p = regexp.MustCompile(`\b[1-9][0-9]{17}\b`).ReplaceAllString(p, `[1-9][0-9]{17}`)
	p = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(p, `(?:.*\n)*`)
	p = strings.ReplaceAll(p, "…", `.*`)
	return regexp.MustCompile(`\A` + p + `\z`).MatchString(printed)
}

func TestPageIsRead(t *testing.T) {
	steps, err := parse("## One\n```console\nab# cat <<END\n> x\n> END\nx\n```\n```sh\na# no\n```\n### Two\n1. Do it:\n\n   ```console\n   c# true\n   ```\n")
	if err != nil || len(steps) != 2 {
		t.Fatalf("%+v, %v", steps, err)
	}
	if s := steps[0]; s.section != "One" || strings.Join(s.machines, " ") != "a b" || s.command != "cat <<END\nx\nEND" || s.output != "x\n" {
		t.Errorf("first step: %+v", s)
	}
	if s := steps[1]; s.section != "Two" || s.command != "true" || s.output != "" {
		t.Errorf("second step: %+v", s)
	}
	for _, bad := range []string{"```console\nx\n```\n", "```console\n```\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestOutputIsCompared(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"", "", true},
		{"", "x\n", false},
		{"a\n", "a\n", true},
		{"a\n", "a\nb\n", false},
		{"…\n", "a\nb\n", true},
		{"…\n", "", true},
		{"a …\n", "a b\n", true},
		{"a …\n", "a b\nc\n", false},
		{"249718711965978626\n", "249718711965978999\n", true},
		{"249718711965978626\n", "42\n", false},
		{"a.b\n", "axb\n", false},
	} {
		if got := matches(c.shown, c.printed); got != c.want {
			t.Errorf("matches(%q, %q) = %v, want %v", c.shown, c.printed, got, c.want)
		}
	}
}
