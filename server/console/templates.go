package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

const templatesPath = root + "/templates"

// templatesPage lists the templates with which sequences begin.
var templatesPage = &page{
	name: "templates", path: templatesPath, title: "Templates", every: time.Second, reload: 5 * time.Second,
	scopes: []trust.Scope{trust.RightReadSequence + ":*"},
	load:   loadTemplates,
}

// templatesOnPage is the number of templates on a page.
const templatesOnPage = 50

// templateList is the data of the page.
type templateList struct {
	Rows []templateRow
	pager
}

type templateRow struct {
	*snowraftv1.Template
	State level
	Mode  string
	Reset string
	Width float64 // width of the bar for the used quota, 0 to 100
	Sequences,
	Quota string // Quota is empty without one
	Names    string // link to the sequences whose names contain the text before the first wildcard
	Commands []command
}

func loadTemplates(ctx context.Context, api *API, in *input) (any, error) {
	after := in.query.Get("after")
	resp, err := api.Templates.ListTemplates(ctx, &snowraftv1.ListTemplatesRequest{PageSize: templatesOnPage, PageToken: after})
	if err != nil {
		return nil, err
	}
	list := &templateList{pager: newPager(templatesPath, nil, after, resp.GetNextPageToken())}
	for _, t := range resp.GetTemplates() {
		list.Rows = append(list.Rows, templateOf(t))
	}
	return list, nil
}

func templateOf(t *snowraftv1.Template) templateRow {
	s, pattern := t.GetSettings(), argument(t.GetPattern())
	start, _, _ := strings.Cut(t.GetPattern(), "*")
	row := templateRow{
		Template: t, State: level{"good", "Begins sequences"}, Mode: titled(apijson.Word(s.GetMode())), Reset: "never starts over",
		Sequences: strconv.FormatUint(t.GetSequences(), 10), Names: link(sequencesPath, map[string]string{"q": start, "sort": "name"}),
		Commands: []command{{Label: "Change", Text: "snowraft template update " + pattern + ` --description "..."`}, {Label: "Show", Text: "snowraft template get " + pattern}},
	}
	if s.GetReset_() > snowraftv1.SequenceReset_SEQUENCE_RESET_NONE {
		row.Reset = "starts over " + apijson.Word(s.GetReset_())
	}
	if quota := t.GetQuota(); quota > 0 {
		part := min(float64(t.GetSequences())/float64(quota), 1)
		row.Quota, row.Width = strconv.FormatUint(quota, 10), 100*part
		raise := command{Label: "Raise the quota", Text: "snowraft template update " + pattern + " --quota N"}
		switch {
		case part == 1:
			row.State, row.Commands[0] = level{"bad", "Quota used up"}, raise
		case 1-part < nearlyUsed:
			row.State, row.Commands[0] = level{"warn", "Quota nearly used up"}, raise
		}
	}
	if t.GetSuspended() {
		row.State = level{"bad", "Suspended by a restore"}
		row.Commands[0] = command{Label: "Resume", Text: "snowraft template resume " + pattern + " --start N"}
	}
	return row
}
