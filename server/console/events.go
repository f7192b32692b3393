package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

const eventsPath = root + "/events"

// eventsPage lists recent events of all members.
var eventsPage = &page{
	name: "events", path: eventsPath, title: "Events", every: time.Second, reload: 5 * time.Second,
	scopes: []trust.Scope{trust.RightReadCluster},
	load:   loadEvents,
}

const (
	// eventsOnPage is the number of events on a page. An event seen by several members is one row.
	eventsOnPage = 100
	// together is the longest time, in ms, between reports of one event by different members.
	together = 5000
)

// eventList is the data of the page.
type eventList struct {
	Kind, Member string // filter; empty: all
	Kinds        []choice
	Members      []choice
	Rows         []eventRow
	Unreached    string // names of members whose events are missing
	Command      string
	pager
}

// choice is an option of the filter.
type choice struct {
	Value, Label string
	Chosen       bool
}

type eventRow struct {
	*snowraftv1.Event
	ID      string
	Day     string // empty for today
	State   level
	Kind    string
	Members []string // members that saw the event
	Caller  string   // caller of an administrative call, with the address; empty otherwise
	Meaning string   // meaning of the reason; empty without one
	Runbook string   // path; empty without one
}

func loadEvents(ctx context.Context, api *API, in *input) (any, error) {
	q := in.query
	list := &eventList{Kind: q.Get("kind"), Member: q.Get("member"), Command: "snowraft events -f"}
	req := &snowraftv1.ListEventsRequest{PageSize: eventsOnPage, PageToken: q.Get("after"), Member: list.Member}
	list.Kinds = append(list.Kinds, choice{Label: "All kinds", Chosen: list.Kind == ""})
	for n := int32(1); n < int32(len(snowraftv1.EventKind_name)); n++ { //nolint:gosec // few kinds
		kind := snowraftv1.EventKind(n)
		c := choice{Value: apijson.Word(kind), Label: upperFirst(apijson.Word(kind)), Chosen: apijson.Word(kind) == list.Kind}
		if list.Kinds = append(list.Kinds, c); c.Chosen {
			req.Kinds = []string{c.Value}
			list.Command += " --kind " + c.Value
		}
	}
	resp, err := api.View.ListEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	if list.Member != "" {
		list.Command += " --member " + shell(list.Member)
	}
	list.Members = membersOf(in.overview, list.Member)
	list.Rows = eventRows(resp.GetEvents())
	for i, r := range list.Rows {
		if d := day(r.GetAtMs()); d != day(in.now.UnixMilli()) {
			list.Rows[i].Day = d
		}
	}
	list.Unreached = strings.Join(resp.GetUnreachedMembers(), ", ")
	list.pager = newPager(eventsPath, map[string]string{"kind": list.Kind, "member": list.Member}, q.Get("after"), resp.GetNextPageToken())
	return list, nil
}

// membersOf returns the options for a member. The chosen name is always an option, even if it is no longer a member's.
func membersOf(o *snowraftv1.Overview, chosen string) []choice {
	all, found := []choice{{Label: "All members", Chosen: chosen == ""}}, chosen == ""
	for _, m := range o.GetMembers() {
		if name := m.GetMember().GetName(); name != "" {
			all = append(all, choice{Value: name, Label: name, Chosen: name == chosen})
			found = found || name == chosen
		}
	}
	if !found {
		all = append(all, choice{Value: chosen, Label: chosen, Chosen: true})
	}
	return all
}

// eventRows returns the rows of events, newest first. One row stands for all reports of an event by different members.
func eventRows(events []*snowraftv1.Event) []eventRow {
	var rows []eventRow
	for _, e := range events {
		same := slices.IndexFunc(rows, func(r eventRow) bool { return r.sees(e) })
		if same >= 0 {
			rows[same].Members = append(rows[same].Members, e.GetMember())
			continue
		}
		rows = append(rows, eventOf(e))
	}
	for _, r := range rows {
		slices.Sort(r.Members)
	}
	return rows
}

// sees reports whether a row and an event of another member describe the same occurrence.
func (r eventRow) sees(e *snowraftv1.Event) bool {
	return e.GetKind() == r.GetKind() && e.GetText() == r.GetText() && e.GetCount() == 1 && r.GetCount() == 1 &&
		r.GetAtMs()-e.GetAtMs() <= together && !slices.Contains(r.Members, e.GetMember())
}

func eventOf(e *snowraftv1.Event) eventRow {
	row := eventRow{Event: e, ID: fmt.Sprintf("event-%s-%d-%d", e.GetMemberId(), e.GetFirstAtMs(), e.GetNumber()), Kind: upperFirst(apijson.Word(e.GetKind())), Members: []string{e.GetMember()}}
	switch e.GetSeverity() {
	case failed:
		row.State = level{"bad", "Problem"}
	case attention:
		row.State = level{"warn", "Attention"}
	default:
		row.State = level{"none", "Information"}
	}
	row.Caller, row.Meaning = callerOf(e), meaningOf(e)
	if anchor := cmp.Or(adviceByKind[e.GetKind()][e.GetSeverity()], adviceByReason[e.GetReason()]); anchor != "" {
		row.Runbook = runbookPath + "#" + anchor
	}
	return row
}

// callerOf returns the caller of an administrative call, with the address.
func callerOf(e *snowraftv1.Event) string {
	var text string
	switch {
	case e.GetActor() == "":
		return ""
	case e.GetActor() == trust.Open().Actor():
		text = "by an unknown caller, because the cluster is open"
	default:
		text = "by " + e.GetActor()
	}
	if e.GetAddress() != "" {
		text += ", at " + e.GetAddress()
	}
	return text
}

// meaningOf returns the meaning of a reason. It returns no texts with links, which are for the documentation.
func meaningOf(e *snowraftv1.Event) string {
	r, ok := rpc.ReasonOf(e.GetReason())
	if !ok || strings.Contains(r.Meaning, "](") {
		return ""
	}
	text, _, _ := strings.Cut(r.Meaning, " Metadata:") // metadata is for programs
	text = upperFirst(strings.ReplaceAll(text, "`", ""))
	if e.GetKind() == snowraftv1.EventKind_EVENT_KIND_DENIAL {
		text = e.GetReason() + ": " + text
	}
	return text
}

// adviceByReason maps the reasons of refusals to headings of the runbook.
var adviceByReason = map[string]string{
	"NO_LEADER": "no-leader", "WINDOW_ENDED": "member-cut-off", "CLOCK_BEHIND": "clock-behind", "CLOCK_SKEW": "clock-ahead",
	"WORKERS_EXHAUSTED": "workers-exhausted", "SET_BACK": "set-back", "CONTRADICTED": "set-back",
	"FENCED": "restored-and-frozen", "SEQUENCE_FROZEN": "restored-and-frozen", "TEMPLATE_SUSPENDED": "restored-and-frozen", "PAST_CLOSED": "restored-and-frozen",
	"NUMBER_UNRESOLVED": "restored-and-frozen", "RESERVATIONS_OPEN": "numbers-stay-open",
	"SEQUENCE_EXHAUSTED": "sequence-exhausted", "WOULD_REPEAT": "numbers-would-repeat", "UNAUTHENTICATED": "token-refused",
	"PERMISSION_DENIED": "token-refused", "RATE_LIMITED": "rate-of-a-token", "OVERLOADED": "overloaded-member", "NAME_TAKEN": "name-taken",
}

// adviceByKind maps the kinds of other events, by severity, to headings of the runbook.
var adviceByKind = map[snowraftv1.EventKind]map[snowraftv1.EventSeverity]string{
	snowraftv1.EventKind_EVENT_KIND_ELECTION:   {failed: "no-leader"},
	snowraftv1.EventKind_EVENT_KIND_MEMBERSHIP: {failed: "no-leader", attention: "member-cut-off"},
	snowraftv1.EventKind_EVENT_KIND_CLOCK:      {failed: "clock-trouble", attention: "clock-trouble"},
	snowraftv1.EventKind_EVENT_KIND_STORAGE:    {failed: "disk-slow-or-full"},
}

const (
	failed    = snowraftv1.EventSeverity_EVENT_SEVERITY_ERROR
	attention = snowraftv1.EventSeverity_EVENT_SEVERITY_WARNING
)
