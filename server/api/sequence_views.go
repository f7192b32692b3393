package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
)

// ListSequenceViews implements snowraftv1.ViewServiceServer.
func (v views) ListSequenceViews(ctx context.Context, req *snowraftv1.ListSequenceViewsRequest) (*snowraftv1.ListSequenceViewsResponse, error) {
	if resp, ok := askLeader[*snowraftv1.ListSequenceViewsResponse](ctx, v.Services, snowraftv1.ViewService_ListSequenceViews_FullMethodName, req); ok {
		return resp, nil
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	if n := len(req.GetNameContains()); n > limits.NameBytes {
		return nil, wire.Invalid(fmt.Sprintf("name_contains of %d bytes: expected at most %d bytes", n, limits.NameBytes))
	}
	q := listQuery{contains: strings.ToLower(req.GetNameContains()), token: req.GetPageToken(), size: size}
	switch req.GetOrderBy() {
	case "", "name":
	case "remaining":
		q.order = byRemaining
	case "open":
		q.order = byOldest
	default:
		return nil, wire.Invalid(fmt.Sprintf("order_by %.64q: expected name, remaining or open", req.GetOrderBy()))
	}
	page, err := v.lists.list(q, time.Duration(v.Member.Clock().Now().Mono)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	resp := &snowraftv1.ListSequenceViewsResponse{NextPageToken: page.next, TotalSize: uint64(page.listing.Len())} //nolint:gosec // not negative
	for _, row := range page.rows {
		resp.Sequences = append(resp.Sequences, v.sequenceView(page, row))
	}
	return resp, nil
}

func (v views) sequenceView(page sequenceList, row listRow) *snowraftv1.SequenceView {
	s, _ := page.listing.Sequence(row.name) // rows are of the listing
	view := &snowraftv1.SequenceView{Sequence: v.sequence(s), PeriodOver: row.over}
	if row.left < unbounded {
		view.RemainingRatio = new(row.ratio(view.GetSequence().GetRemaining()))
	}
	if s.Period != 0 {
		view.PeriodEndsAtMs = member.PeriodEnd(fsm.PeriodsOf(s.Spec), s.Period)
	}
	if perSecond, over, ok := v.rates.rate(s, page.at); ok {
		view.GrantedPerSecond, view.RateOverMs = new(perSecond), over.Milliseconds()
	}
	return view
}
