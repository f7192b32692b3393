package console

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

const sequencePath = root + "/sequence"

// sequencePage shows one sequence: its open reservations, the accounts of its periods, and the ended periods that still issue
// numbers. A viewer that may read only this sequence sees the page.
var sequencePage = &page{
	name: "sequence", path: sequencePath, title: "Sequence", every: time.Second, reload: 5 * time.Second, within: sequencesPage,
	scopes: []trust.Scope{trust.RightReadSequence + ":*"},
	load:   loadSequence,
}

const (
	// reservationsOnPage is the number of open reservations on a page.
	reservationsOnPage = 50
	// periodsOnPage is the number of periods of a kind on a page: the newest ones.
	periodsOnPage = 24
)

// sequenceData is the data of the page.
type sequenceData struct {
	Name    string // empty: no sequence is chosen
	Row     sequenceRow
	Gapless bool
	Problem string // reason for missing reservations and accounts
	Open    []reservation
	Periods []*snowraftv1.PeriodSummary
	Ended   []endedPeriod
	Late    string // time for which an ended period still issues numbers; empty: none
	pager
}

// reservation is an open reservation.
type reservation struct {
	*snowraftv1.Reservation
	Age   string
	Owner string // the holder in words
}

// endedPeriod is an ended period of which the cluster knows the end.
type endedPeriod struct {
	Period, Next, Left string
	State              level
}

func loadSequence(ctx context.Context, api *API, in *input) (any, error) {
	d := &sequenceData{Name: in.query.Get("name")}
	if d.Name == "" {
		return d, nil
	}
	resp, err := api.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: d.Name})
	if err != nil && rpc.FromError(err).Reason == rpc.NoLeader {
		resp, err = api.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: d.Name, Local: true})
	}
	if err != nil {
		return nil, err
	}
	s := resp.GetSequence()
	d.Row = sequenceOf(viewOf(s), in.now.UnixMilli())
	d.Gapless = s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS
	if s.GetLateMs() > 0 {
		d.Late = span(s.GetLateMs())
	}
	for _, e := range slices.Backward(s.GetEndedPeriods()) {
		if len(d.Ended) < periodsOnPage {
			d.Ended = append(d.Ended, endedOf(e))
		}
	}
	if !d.Gapless {
		return d, nil
	}
	if err := d.account(ctx, api, in); err != nil {
		if isDenied(err) {
			return nil, err
		}
		d.Problem = message(err)
	}
	return d, nil
}

// account reads what the leader knows of a gapless sequence.
func (d *sequenceData) account(ctx context.Context, api *API, in *input) error {
	after := in.query.Get("after")
	open, err := api.Reservations.ListReservations(ctx, &snowraftv1.ListReservationsRequest{Sequence: d.Name, PageSize: reservationsOnPage, PageToken: after})
	if err != nil {
		return err
	}
	for _, r := range open.GetReservations() {
		owner := r.GetHolder()
		if owner == trust.Open().Actor() {
			owner = "unknown, because the cluster is open"
		}
		d.Open = append(d.Open, reservation{r, span(in.now.UnixMilli()-r.GetReservedAtMs()) + " ago", owner})
	}
	d.pager = newPager(sequencePath, map[string]string{"name": d.Name}, after, open.GetNextPageToken())
	accounts, err := api.Reservations.ListPeriods(ctx, &snowraftv1.ListPeriodsRequest{Sequence: d.Name, PageSize: periodsOnPage})
	d.Periods = accounts.GetPeriods()
	return err
}

// viewOf returns a sequence as a view without a rate.
func viewOf(s *snowraftv1.Sequence) *snowraftv1.SequenceView {
	v := &snowraftv1.SequenceView{Sequence: s}
	if all, err := strconv.ParseUint(capacity(s), 10, 64); err == nil && endsEarly(s) {
		v.RemainingRatio = new(min(float64(s.GetRemaining())/float64(all), 1))
	}
	return v
}

func endedOf(e *snowraftv1.EndedPeriod) endedPeriod {
	ended := endedPeriod{Period: e.GetPeriod(), Next: unknown, Left: strconv.FormatUint(e.GetRemaining(), 10), State: level{"good", "Known"}}
	if e.Next != nil {
		ended.Next = strconv.FormatInt(e.GetNext(), 10)
	}
	switch {
	case e.GetFrozen():
		ended.State = level{"warn", "Closed by a restore"}
	case e.GetRemaining() == 0:
		ended.State = level{"bad", "No numbers left"}
	}
	return ended
}
