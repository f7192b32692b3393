package top

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const now = 1792419138123 // Unix ms

func bounded(name string, remaining uint64, ratio float64) *snowraftv1.SequenceView {
	return &snowraftv1.SequenceView{Sequence: &snowraftv1.Sequence{Name: name, Remaining: remaining}, RemainingRatio: new(ratio)}
}

func gapless(name string, open uint64, ageMs int64) *snowraftv1.SequenceView {
	return &snowraftv1.SequenceView{Sequence: &snowraftv1.Sequence{
		Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, OpenReservations: open, OldestOpenAtMs: now - ageMs, Remaining: 1 << 62,
	}}
}

func shown(d documents, width int) string {
	return text(d.lines(now, width, cli.Style{}), "\n")
}

func TestDocumentsShowOnlyColumnsThatTheyHave(t *testing.T) {
	t.Parallel()
	var d documents
	if got := shown(d, 80); got != "" {
		t.Errorf("without documents, the view has %q", got)
	}
	d.add([]*snowraftv1.SequenceView{gapless("invoices", 3, 65_000), gapless("receipts", 1, 200*3_600_000), gapless("none", 0, 0)})
	if got, want := shown(d, 80), `
SEQUENCE  STATE         OPEN  OLDEST
invoices  open numbers  3     1m5s
receipts  open numbers  1     8d
`; got != want {
		t.Errorf("gapless sequences:\n%s", got)
	}
	d = documents{}
	d.add([]*snowraftv1.SequenceView{bounded("gone", 0, 0), bounded("vouchers", 49_999, 0.0499), bounded("half", 50, 0.5)})
	if got, want := shown(d, 80), `
SEQUENCE  STATE         LEFT   PART
vouchers  near its end  49999  5.0%
gone      exhausted     0      0.0%
`; got != want {
		t.Errorf("sequences with an end:\n%s", got)
	}
	d = documents{templates: []*snowraftv1.Template{{Pattern: "t/*", Sequences: 3, Quota: 3}, {Pattern: "s/*", Suspended: true, Sequences: 12}, {Pattern: "n/*", Quota: 100, Sequences: 95}}}
	if got, want := shown(d, 80), `
TEMPLATE  STATE                   SEQUENCES  QUOTA
t/*       quota used up           3          3
s/*       suspended by a restore  12         -
n/*       quota nearly used up    95         100
`; got != want {
		t.Errorf("templates:\n%s", got)
	}
}

// Many exhausted sequences do not hide one whose end can still be moved, and a sequence of both lists is shown once.
func TestDocumentsAreFewAndShownOnce(t *testing.T) {
	t.Parallel()
	var list []*snowraftv1.SequenceView
	for i := range 20 {
		list = append(list, bounded(fmt.Sprintf("gone-%02d", i), 0, 0))
	}
	both := gapless("both", 2, 1000)
	both.RemainingRatio, both.Sequence.UnknownNumbers = new(0.01), 7
	list = append(list, bounded("near", 1, 0.01), both)
	var d documents
	d.add([]*snowraftv1.SequenceView{both})
	d.add(list)
	got := shown(d, 80)
	if n := strings.Count(got, "both"); n != 1 || !strings.Contains(got, "both      7 unknown") {
		t.Errorf("the sequence of both lists is shown %d times:\n%s", n, got)
	}
	if !strings.Contains(got, "near ") || len(d.sequences) != 1+mostDocuments {
		t.Errorf("%d sequences:\n%s", len(d.sequences), got)
	}
}

func TestDocumentsFitTheWidth(t *testing.T) {
	t.Parallel()
	d := documents{templates: []*snowraftv1.Template{{Pattern: strings.Repeat("ü", 60) + "/*", Suspended: true}}}
	both := gapless(strings.Repeat("n", 128), 1000, 1<<50)
	both.RemainingRatio = new(0.01)
	d.add([]*snowraftv1.SequenceView{both})
	for _, width := range []int{1, 20, 80, 300} {
		for l := range strings.Lines(shown(d, width)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > width {
				t.Errorf("width %d: a line of %d: %q", width, n, l)
			}
		}
	}
}
