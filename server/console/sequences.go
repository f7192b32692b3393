package console

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

const sequencesPath = root + "/sequences"

// sequencesPage lists sequences, by default those nearest their end first. A page costs the same with a hundred sequences as
// with a hundred thousand: the member sorts and searches, and the page has only visible rows.
var sequencesPage = &page{
	name: "sequences", path: sequencesPath, title: "Sequences", every: time.Second, reload: 5 * time.Second,
	scopes: []trust.Scope{trust.RightReadSequence + ":*"},
	load:   loadSequences,
}

const (
	// sequencesOnPage is the number of sequences on a page.
	sequencesOnPage = 50
	// nearlyUsed is the ratio of remaining numbers below which a sequence needs attention.
	nearlyUsed = 0.1
)

// sequenceList is the data of the page.
type sequenceList struct {
	Search string
	ByName bool
	Rows   []sequenceRow
	Total  uint64 // number of all sequences, independent of the search
	Near   string // link to the order by the nearest end
	Names  string // link to the order by name
	pager
}

type sequenceRow struct {
	*snowraftv1.SequenceView
	Name     string
	State    level
	Last     string // last issued number; empty if there is none
	AtMost   bool   // Last is the last number that can have been issued
	Left     string
	Width    float64 // width of the bar for the remaining numbers, 0 to 100
	Bounded  bool
	EndsIn   string // time left at the present rate; empty if unknown
	Mode     string
	Reset    string
	ResetAt  int64
	Commands []command
}

func loadSequences(ctx context.Context, api *API, in *input) (any, error) {
	q := in.query
	list := &sequenceList{Search: q.Get("q"), ByName: q.Get("sort") == "name"}
	req := &snowraftv1.ListSequenceViewsRequest{
		PageSize: sequencesOnPage, PageToken: q.Get("after"), NameContains: list.Search, OrderBy: "remaining",
	}
	if list.ByName {
		req.OrderBy = "name"
	}
	resp, err := api.View.ListSequenceViews(ctx, req)
	if err != nil {
		return nil, err
	}
	list.Total = resp.GetTotalSize()
	for _, s := range resp.GetSequences() {
		list.Rows = append(list.Rows, sequenceOf(s))
	}
	fields := map[string]string{"q": list.Search}
	list.Near = link(sequencesPath, fields)
	fields["sort"] = "name"
	list.Names = link(sequencesPath, fields)
	if !list.ByName {
		delete(fields, "sort")
	}
	list.pager = newPager(sequencesPath, fields, q.Get("after"), resp.GetNextPageToken())
	return list, nil
}

func sequenceOf(v *snowraftv1.SequenceView) sequenceRow {
	s := v.GetSequence()
	row := sequenceRow{
		SequenceView: v, Name: s.GetName(), Bounded: v.RemainingRatio != nil, Width: 100 * v.GetRemainingRatio(),
		Mode: "Relaxed", Reset: "Never",
	}
	if s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT {
		row.Mode = "Strict"
	}
	if word := strings.TrimPrefix(s.GetReset_().String(), "SEQUENCE_RESET_"); s.GetReset_() > snowraftv1.SequenceReset_SEQUENCE_RESET_NONE {
		row.Reset, row.ResetAt = word[:1]+strings.ToLower(word[1:]), v.GetPeriodEndsAtMs()
		if s.GetYearStarts() != "" {
			row.Reset += ", years start " + s.GetYearStarts()
		}
	}
	if last := cmp.Or(s.Last, s.LastAtMost); last != nil {
		row.Last, row.AtMost = strconv.FormatInt(*last, 10), s.Last == nil
	}
	if row.Bounded {
		row.Left = percent(v.GetRemainingRatio())
	}
	if per := v.GetGrantedPerSecond(); per > 0 && row.Bounded && !v.GetPeriodOver() {
		row.EndsIn = span(int64(min(float64(s.GetRemaining())/per, 1e9) * 1000))
	}
	row.setState(s)
	return row
}

// setState sets the state of a sequence, and the commands that change it.
func (r *sequenceRow) setState(s *snowraftv1.Sequence) {
	name := shell(s.GetName())
	if strings.HasPrefix(name, "-") {
		name = "-- " + name
	}
	show := command{Label: "Change", Text: "snowraft seq update " + name + ` --description "..."`}
	if r.Bounded {
		end := " --max "
		if s.GetIncrement() < 0 {
			end = " --min "
		}
		show.Text = "snowraft seq update " + name + end + "N"
	}
	switch {
	case s.GetFrozen():
		r.State = level{"bad", "Frozen by a restore"}
		show = command{Label: "Resume", Text: "snowraft seq resume " + name + " --after N --holders-stopped"}
	case r.GetPeriodOver():
		r.State = level{"good", "New period begins with the next number"}
	case s.GetRemaining() == 0:
		r.State = level{"bad", "No numbers left"}
		if r.AtMost {
			r.State.Word = "All numbers are in blocks"
		}
	case r.Bounded && r.GetRemainingRatio() < nearlyUsed:
		r.State = level{"warn", "Few numbers left"}
	default:
		r.State = level{"good", "Numbers left"}
	}
	r.Commands = []command{show, {Label: "Show", Text: "snowraft seq get " + name}}
}

// percent returns a part as a percentage that is 0 or 100 only if it is that exactly.
func percent(part float64) string {
	switch p := 100 * part; {
	case p <= 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	case p > 99.9 && p < 100:
		return "> 99.9 %"
	case p < 10, p > 99 && p < 100:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(min(p, 100), 'f', 0, 64) + " %"
	}
}

// grouped returns a number with spaces between groups of three digits.
func grouped(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "−", number[1:]
	}
	var b strings.Builder
	for i, c := range number {
		if i > 0 && (len(number)-i)%3 == 0 {
			b.WriteRune('\u202f') // narrow space without a line break
		}
		b.WriteRune(c)
	}
	return sign + cmp.Or(b.String(), unknown)
}
