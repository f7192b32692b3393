package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/report"
)

// element holds the parts of a page element that tests check.
type element struct {
	name, text string
	attributes map[string]string
}

// parse reads a page strictly as XML: each element is closed, each attribute quoted.
func parse(t *testing.T, page string) []element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	var all []element
	var open []int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("page is not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, i := range open {
				all[i].text += string(token)
			}
		}
	}
	return all
}

func html(t *testing.T, r *check.Run, verdicts []check.Verdict) (string, []element) {
	t.Helper()
	if err := report.Write(io.Discard, r, verdicts); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(r.Dir, report.PageName))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), parse(t, string(raw))
}

// titles returns the texts of all marks of a class.
func titles(elements []element, class string) []string {
	var all []string
	for _, e := range elements {
		if e.name == "rect" && slices.Contains(strings.Fields(e.attributes["class"]), class) {
			all = append(all, e.text)
		}
	}
	return all
}

func TestHTMLShowsEachFault(t *testing.T) {
	t.Parallel()
	_, page := html(t, handMade(t), verdicts())
	bars := titles(page, "bar")
	for _, want := range []string{
		"kill (process), event 0\n6.0 s to 8.0 s (2s)\non n1",
		"isolate (network), event 1\n7.0 s to 9.0 s (2s)\non n1\ndrop, both ways",
		"bump (clock), event 2\n10.0 s to 12.0 s (2s)\non n1\nclocks set off by -1h0m0s",
		"full (disk), event 3\nfrom 13.0 s, no end recorded\non n1\nNOT INJECTED: no space for the ballast",
		"pause (process), event 5\n14.0 s to 15.0 s (1s)\non n2, n3",
	} {
		if !slices.Contains(bars, want) {
			t.Errorf("bars %q, want one %q", bars, want)
		}
	}
	if len(bars) != 6 {
		t.Errorf("%d bars, want one for each of 6 faults", len(bars))
	}
	for class, want := range map[string]int{"network": 1, "process": 2, "clock": 1, "disk": 1, "otherfamily": 1, "notmade": 1} {
		got := slices.DeleteFunc(titles(page, class), func(s string) bool { return s == "" }) // marks of the legend have no title
		if len(got) != want {
			t.Errorf("%d bars of class %s, want %d", len(got), class, want)
		}
	}
}

func TestHTMLShowsMembers(t *testing.T) {
	t.Parallel()
	_, page := html(t, handMade(t), verdicts())
	for class, want := range map[string][]string{
		"down":    {"n1: no process\n6.0 s to 8.0 s (2s)"},
		"paused":  {"n2: paused\n14.0 s to 15.0 s (1s)", "n3: paused\n14.0 s to 15.0 s (1s)"},
		"trouble": {"n1: CLOCK_BEHIND: the clock is behind <by 1h>\n10.0 s to 12.0 s (2s)"},
		"leader":  {"n1: leads in term 2\n1.0 s to 6.0 s (5s)", "n2: leads in term 4\n6.5 s to 20.0 s (13.5s)"},
		"restart": {
			"n1: start 1\nat 0.0 s", "n1: start 4\nat 8.0 s\nprevious process: signal: killed", "n2: start 2\nat 0.0 s", "n3: start 3\nat 0.0 s",
		},
		"term": {"n1 leads in term 2\nat 1.0 s", "n2 leads in term 4\nat 6.5 s"},
	} {
		got := slices.DeleteFunc(titles(page, class), func(s string) bool { return s == "" }) // marks of the legend have no title
		if !slices.Equal(got, want) {
			t.Errorf("marks of class %s = %q, want %q", class, got, want)
		}
	}
}

func TestHTMLEscapes(t *testing.T) {
	t.Parallel()
	raw, page := html(t, handMade(t), verdicts())
	if strings.Contains(raw, "<script>alert") || strings.Contains(raw, "<img") {
		t.Error("page has elements from text of the history, want the text escaped")
	}
	scripts := 0
	for _, e := range page {
		if e.name == "script" {
			scripts++
		}
		for name := range e.attributes {
			if strings.HasPrefix(name, "on") {
				t.Errorf("%s has the attribute %s, want no event handler", e.name, name)
			}
		}
	}
	if scripts != 2 {
		t.Errorf("page has %d scripts, want 2: the page's and its data", scripts)
	}
	shown := 0
	for _, e := range page {
		if (e.name == "li" || e.name == "td") && strings.Contains(e.text, `<script>alert("x")</script>`) {
			shown++
		}
	}
	if shown < 3 {
		t.Errorf("page shows the hostile text %d times, want at least 3: as a failure, a reason and a note", shown)
	}
}

// A page loads no other resource, so it is complete in an archive and without a network.
func TestHTMLIsSelfContained(t *testing.T) {
	t.Parallel()
	r := handMade(t)
	for _, name := range []string{"porcupine-a.html", "porcupine-b c&d.html", "other.html"} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, page := html(t, r, verdicts())
	var links []string
	for _, e := range page {
		for name, value := range e.attributes {
			switch {
			case name == "href" && e.name == "a":
				links = append(links, value)
			case name == "href", name == "src", name == "srcset", name == "xmlns", strings.Contains(value, "//"), strings.Contains(value, "url("):
				t.Errorf("%s has %s=%q, want no reference to another resource", e.name, name, value)
			}
		}
		if text := e.text; e.name == "style" && (strings.Contains(text, "url(") || strings.Contains(text, "@import") || strings.Contains(text, "//")) {
			t.Error("style loads another resource")
		} else if e.name == "script" && (strings.Contains(text, "http") || strings.Contains(text, "fetch(") || strings.Contains(text, "import")) {
			t.Error("script loads another resource")
		}
	}
	slices.Sort(links)
	if want := []string{"./porcupine-a.html", "./porcupine-b%20c&d.html"}; !slices.Equal(links, want) {
		t.Errorf("links = %q, want %q", links, want)
	}
}

func TestHTMLOfMinimalRuns(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*check.Run{
		"header only":      written(t, header()),
		"one operation":    written(t, header(), op("ids", "ids", "ok", "", 0, 0)),
		"before the start": written(t, header(), op("ids", "ids", "ok", "", -1e9, 0)),
		"one failure":      written(t, header(), op("ids", "ids", "fail", "NO_LEADER", 1e9, 1e6)),
	} {
		raw, _ := html(t, r, nil)
		for _, bad := range []string{"NaN", "Inf", "%!"} {
			if strings.Contains(raw, bad) {
				t.Errorf("%s: page contains %q", name, bad)
			}
		}
	}
}
