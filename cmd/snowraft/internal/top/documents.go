package top

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// mostDocuments is the greatest number of sequences of a kind in a view, those with the oldest open reservations and those
	// nearest their end, and of templates.
	mostDocuments = 5
	// readSequences is the number of sequences that are read for them, because exhausted ones can be many.
	readSequences = 100
	// nearEnd is the part of the numbers or of a quota that is left, below which a view has a sequence or a template. The alert
	// SnowraftSequenceNearEnd has the same limit.
	nearEnd = 0.1
	// rereadDocuments is the interval between two readings of sequences and templates.
	rereadDocuments = 2 * time.Second
)

// documents are the sequences and templates that need attention. A caller without the right seq:read gets none.
type documents struct {
	sequences []*snowraftv1.SequenceView
	templates []*snowraftv1.Template
}

// readDocuments returns the documents as a member sees them. Without a right, or if a call fails, the list lacks what the call
// would have returned: the view of the members does not depend on it.
func readDocuments(ctx context.Context, r *cli.Remote) (d documents) {
	for _, by := range []string{"open", "remaining"} {
		resp, err := r.Views.ListSequenceViews(ctx, &snowraftv1.ListSequenceViewsRequest{OrderBy: by, PageSize: readSequences})
		if err != nil {
			return d
		}
		d.add(resp.GetSequences())
	}
	templates, err := cli.List(func(token string) ([]*snowraftv1.Template, string, error) {
		resp, err := r.Templates.ListTemplates(ctx, &snowraftv1.ListTemplatesRequest{PageSize: cli.PageSize, PageToken: token})
		return resp.GetTemplates(), resp.GetNextPageToken(), err
	})
	if err != nil {
		return d
	}
	for _, t := range templates {
		if templateState(t) != "" && len(d.templates) < mostDocuments {
			d.templates = append(d.templates, t)
		}
	}
	return d
}

// add adds the first sequences of a list that need attention, exhausted ones last.
func (d *documents) add(list []*snowraftv1.SequenceView) {
	had, added := d.sequences, 0
	for _, last := range []bool{false, true} {
		for _, v := range list {
			known := slices.ContainsFunc(had, func(have *snowraftv1.SequenceView) bool {
				return have.GetSequence().GetName() == v.GetSequence().GetName()
			})
			if exhausted(v) == last && wanting(v) && !known && added < mostDocuments {
				d.sequences = append(d.sequences, v)
				added++
			}
		}
	}
}

func exhausted(v *snowraftv1.SequenceView) bool {
	return v.RemainingRatio != nil && v.GetSequence().GetRemaining() == 0 && !v.GetPeriodOver()
}

// wanting reports whether a sequence needs attention. A restore freezes all sequences, which is a finding of the overview.
func wanting(v *snowraftv1.SequenceView) bool {
	s := v.GetSequence()
	return s.GetOpenReservations() > 0 || s.GetUnknownNumbers() > 0 || v.RemainingRatio != nil && v.GetRemainingRatio() < nearEnd
}

// sequenceTable has the columns about open numbers and about what is left only if a sequence has them.
func (d *documents) sequenceTable(now int64) table {
	open := slices.ContainsFunc(d.sequences, func(v *snowraftv1.SequenceView) bool { return v.GetSequence().GetOpenReservations() > 0 })
	ends := slices.ContainsFunc(d.sequences, func(v *snowraftv1.SequenceView) bool { return v.RemainingRatio != nil })
	t := table{columns: []column{{"SEQUENCE", 0}, {"STATE", 1}}}
	if open {
		t.columns = append(t.columns, column{"OPEN", 0}, column{"OLDEST", 2})
	}
	if ends {
		t.columns = append(t.columns, column{"LEFT", 3}, column{"PART", 0})
	}
	for _, v := range d.sequences {
		s := v.GetSequence()
		row := []string{s.GetName(), sequenceState(v)}
		if open {
			count, oldest := "", ""
			if n := s.GetOpenReservations(); n > 0 {
				count, oldest = cli.Decimal(n), age(now-s.GetOldestOpenAtMs())
			}
			row = append(row, count, oldest)
		}
		if ends {
			left, part := "", ""
			if v.RemainingRatio != nil {
				left, part = cli.Decimal(s.GetRemaining()), fmt.Sprintf("%.1f%%", 100*v.GetRemainingRatio())
			}
			row = append(row, left, part)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func sequenceState(v *snowraftv1.SequenceView) string {
	s := v.GetSequence()
	switch {
	case s.GetFrozen():
		return "frozen by a restore"
	case s.GetMoved():
		return "at another system"
	case s.GetUnknownNumbers() > 0:
		return fmt.Sprintf("%d unknown", s.GetUnknownNumbers())
	case exhausted(v):
		return "exhausted"
	case v.RemainingRatio != nil && v.GetRemainingRatio() < nearEnd:
		return "near its end"
	default:
		return "open numbers"
	}
}

func (d *documents) templateTable() table {
	t := table{columns: []column{{"TEMPLATE", 0}, {"STATE", 0}, {"SEQUENCES", 1}, {"QUOTA", 2}}}
	for _, m := range d.templates {
		quota := ""
		if m.GetQuota() > 0 {
			quota = cli.Decimal(m.GetQuota())
		}
		t.rows = append(t.rows, []string{m.GetPattern(), templateState(m), cli.Decimal(m.GetSequences()), quota})
	}
	return t
}

// templateState returns the reason for which a template needs attention; empty if there is none.
func templateState(t *snowraftv1.Template) string {
	switch left := 1 - float64(t.GetSequences())/float64(max(t.GetQuota(), 1)); {
	case t.GetSuspended():
		return "suspended by a restore"
	case t.GetQuota() > 0 && left <= 0:
		return "quota used up"
	case t.GetQuota() > 0 && left < nearEnd:
		return "quota nearly used up"
	default:
		return ""
	}
}

// age returns a duration in milliseconds as text, in days if it is long.
func age(ms int64) string {
	d := max(0, time.Duration(ms)*time.Millisecond)
	if d >= 48*time.Hour {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return d.Truncate(time.Second).String()
}

// lines returns the lines about documents, each table after an empty line.
func (d *documents) lines(now int64, width int, s cli.Style) (all []line) {
	for _, t := range []table{d.sequenceTable(now), d.templateTable()} {
		if len(t.rows) > 0 {
			all = append(append(all, line{}), t.lines(width, s)...)
		}
	}
	return all
}

// reader reads documents again and again while a view is open.
type reader struct {
	mu   sync.Mutex
	last documents
}

// read reads documents from a member until ctx ends.
func (r *reader) read(ctx context.Context, from *cli.Remote) {
	tick := time.NewTicker(rereadDocuments)
	defer tick.Stop()
	for {
		d := readDocuments(ctx, from)
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		r.last = d
		r.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *reader) newest() documents {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
