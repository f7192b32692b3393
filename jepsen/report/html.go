package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/snowraft/snowraft/jepsen/check"
)

//go:embed page
var files embed.FS

// notesShown is the maximum of notes on the page. The counts include all notes.
const notesShown = 300

// page is the input of the template.
type page struct {
	Title, Outcome, Mark, Headline string
	Header, Numbers                []heading
	Again, Schedule                string
	Links                          []link
	Verdicts                       []card
	Figures                        []*figure
	Ticks                          []tick
	PlotWidth, Gutter, MostTicks   int
	Operations                     []line
	Notes                          []note
	NoteKinds                      []named
	NotesLeft                      int
	Data                           data
}

type heading struct{ Name, Value string }

type link struct{ Href, Text string }

// card is a verdict on the page.
type card struct {
	Checker, Outcome, Mark, Summary string
	Failures                        []string
	Left                            int64
	Facts                           []heading
}

// line is a row of the table of operations.
type line struct{ Workload, Outcome, Operations, Share, Reason string }

type note struct{ When, Member, What, Detail string }

func (d *digest) html(path string) error {
	t, err := template.ParseFS(files, "page/*")
	if err != nil {
		return fmt.Errorf("parse template of the page: %w", err)
	}
	p := d.page()
	if p.Links, err = d.links(path); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page.html", p); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	// A history may hold any characters. The page omits control characters, which HTML does not allow.
	text := bytes.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return -1
		}
		return r
	}, b.Bytes())
	return os.WriteFile(path, text, 0o644)
}

func (d *digest) page() page {
	p := page{
		Title: fmt.Sprintf("Snowraft under chaos, seed %d", d.Header.Seed), Outcome: string(d.overall), Mark: mark(d.overall), Headline: d.headline(),
		Header: headings(d.header()), Numbers: headings(d.numbers()), Again: d.again(), Schedule: scheduleName,
		Figures: []*figure{d.faults(), d.members(), d.rates(), d.delays(), d.clocks()},
		Ticks:   d.ticks(), PlotWidth: plotWidth, Gutter: gutter, MostTicks: mostTicks,
		NoteKinds: d.noteKinds(), Data: d.data(),
	}
	for _, v := range d.verdicts {
		c := card{Checker: v.Checker, Outcome: string(v.Outcome), Mark: mark(v.Outcome), Summary: v.Summary, Failures: v.Failures, Left: leftOut(v)}
		for name, n := range v.Facts {
			c.Facts = append(c.Facts, heading{name, grouped(n)})
		}
		slices.SortFunc(c.Facts, func(a, b heading) int { return strings.Compare(a.Name, b.Name) })
		p.Verdicts = append(p.Verdicts, c)
	}
	for _, c := range d.tally.counts() {
		p.Operations = append(p.Operations, line{c.Workload, string(c.Outcome), grouped(c.Operations), percent(c.Share), c.Reason})
	}
	for _, n := range d.Notes[:min(len(d.Notes), notesShown)] {
		p.Notes = append(p.Notes, note{clockFace(time.Duration(n.At - d.zero)), n.Member, n.What, n.Detail})
	}
	p.NotesLeft = len(d.Notes) - len(p.Notes)
	return p
}

func headings(facts []fact) []heading {
	var all []heading
	for _, f := range facts {
		all = append(all, heading{f.name, f.value})
	}
	return all
}

// mark returns a symbol for an outcome, for readers who do not see its color.
func mark(o check.Outcome) string {
	switch o {
	case check.Pass:
		return "✓"
	case check.Fail:
		return "✗"
	default:
		return "?"
	}
}

// links returns links, relative to the page, to the order checker's pictures in the run's directory.
func (d *digest) links(path string) ([]link, error) {
	pictures, err := filepath.Glob(filepath.Join(d.Dir, "porcupine-*.html"))
	if err != nil {
		return nil, fmt.Errorf("list pictures of the order checker: %w", err)
	}
	var links []link
	for _, picture := range pictures {
		relative, err := filepath.Rel(filepath.Dir(path), picture)
		if err != nil {
			return nil, fmt.Errorf("link pictures of the order checker: %w", err)
		}
		href := url.URL{Path: "./" + filepath.ToSlash(relative)}
		links = append(links, link{href.String(), filepath.Base(picture)})
	}
	return links, nil
}
