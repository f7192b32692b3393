package console

import (
	"context"
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
	// openLong is the age from which an open reservation needs attention, as for the alert SnowraftReservationsOpenLong.
	openLong = time.Hour
)

// sequenceList is the data of the page.
type sequenceList struct {
	Search string
	Order  string // "name", "open" or "remaining"
	Rows   []sequenceRow
	Total  uint64 // number of all sequences, independent of the search
	Orders []listOrder
	pager
}

// listOrder is a link to the list in an order.
type listOrder struct {
	Name, Text, Link string
}

type sequenceRow struct {
	*snowraftv1.SequenceView
	Name     string
	Link     string // page of the sequence
	State    level
	Notes    []string // facts below the state
	OldestMs int64    // time of the oldest open reservation; 0 if there is none
	Oldest   string   // distance of that time from now
	Last     string   // last issued number; empty if there is none
	AtMost   bool     // Last is the last number that can have been issued
	Left     string
	Width    float64 // width of the bar for the remaining numbers, 0 to 100
	Bounded  bool
	Of       string // count of all numbers of a period; empty without an end
	Unit     string // "numbers" or "codes"
	EndsIn   string // time left at the present rate; empty if unknown
	Mode     string
	Reset    string
	ResetAt  int64
	Commands []command
}

func loadSequences(ctx context.Context, api *API, in *input) (any, error) {
	q := in.query
	list := &sequenceList{Search: q.Get("q"), Order: q.Get("sort")}
	if list.Order != "name" && list.Order != "open" {
		list.Order = "remaining"
	}
	req := &snowraftv1.ListSequenceViewsRequest{
		PageSize: sequencesOnPage, PageToken: q.Get("after"), NameContains: list.Search, OrderBy: list.Order,
	}
	resp, err := api.View.ListSequenceViews(ctx, req)
	if err != nil {
		return nil, err
	}
	list.Total = resp.GetTotalSize()
	for _, s := range resp.GetSequences() {
		list.Rows = append(list.Rows, sequenceOf(s, in.now.UnixMilli()))
	}
	fields := map[string]string{"q": list.Search}
	list.Orders = []listOrder{{"remaining", "nearest end first", link(sequencesPath, fields)}}
	for _, o := range []listOrder{{Name: "open", Text: "oldest open number first"}, {Name: "name", Text: "by name"}} {
		fields["sort"] = o.Name
		o.Link = link(sequencesPath, fields)
		list.Orders = append(list.Orders, o)
	}
	if fields["sort"] = list.Order; list.Order == "remaining" {
		delete(fields, "sort")
	}
	list.pager = newPager(sequencesPath, fields, q.Get("after"), resp.GetNextPageToken())
	return list, nil
}
