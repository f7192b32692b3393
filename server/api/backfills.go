package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backfill"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
)

type backfills struct {
	snowraftv1.UnimplementedBackfillServiceServer
	*Services
}

func (b backfills) StartBackfill(ctx context.Context, req *snowraftv1.StartBackfillRequest) (*snowraftv1.StartBackfillResponse, error) {
	holder := cmp.Or(req.GetHolder(), "import")
	if err := nfc.Check("holder name", holder); err != nil {
		return nil, wire.Invalid(err.Error())
	}
	l, err := b.Member.LayoutAtLeader(ctx, kernel.LayoutName(req.GetLayout()))
	if err != nil {
		return nil, err
	}
	started, err := b.Member.StartBackfill(ctx, l.Name(), holder)
	if err != nil {
		return nil, err
	}
	past, _ := b.past(l)
	return &snowraftv1.StartBackfillResponse{Backfill: backfillMessage(l, started), PastUntilAtMs: l.MillisAt(past.Border)}, nil
}

func (b backfills) BackfillIds(ctx context.Context, req *snowraftv1.BackfillIdsRequest) (*snowraftv1.BackfillIdsResponse, error) {
	within := duration(req.GetWithinMs())
	switch rows, id := len(req.GetTimesMs()), len(req.GetRequestId()); {
	case rows < 1 || rows > limits.BackfillRows:
		return nil, wire.Invalid(fmt.Sprintf("times_ms with %d rows: expected 1 to %d", rows, limits.BackfillRows))
	case id < 1 || id > limits.RequestIDBytes:
		return nil, wire.Invalid(fmt.Sprintf("request_id of %d bytes: expected 1 to %d, drawn at random for each batch", id, limits.RequestIDBytes))
	case req.GetWithinMs() < 0 || within > limits.BackfillWithin:
		return nil, wire.Invalid(fmt.Sprintf("within_ms %d: expected 0 to %d", req.GetWithinMs(), limits.BackfillWithin.Milliseconds()))
	case req.GetPosition() < 0:
		return nil, wire.Invalid(fmt.Sprintf("position %d: expected that of the job's last answer, or 0", req.GetPosition()))
	}
	ids, next, err := b.Member.BackfillIDs(ctx, member.BackfillRequest{
		Layout: kernel.LayoutName(req.GetLayout()), Job: req.GetJob(), Place: req.GetPosition(), Times: req.GetTimesMs(), Within: within, ID: req.GetRequestId(),
	})
	if row, ok := errors.AsType[*backfill.RowError](err); ok {
		return nil, wire.Invalid(row.Error())
	}
	if err != nil {
		return nil, err
	}
	b.Kernel.NoteIDs(kernel.LayoutName(req.GetLayout()), len(ids))
	resp := &snowraftv1.BackfillIdsResponse{Ids: make([]int64, len(ids)), Position: next}
	for i, id := range ids {
		resp.Ids[i] = int64(id) //nolint:gosec // at most 63 bits
	}
	return resp, nil
}

func (b backfills) ListBackfills(ctx context.Context, req *snowraftv1.ListBackfillsRequest) (*snowraftv1.ListBackfillsResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	var from uint64
	if t := req.GetPageToken(); t != "" {
		if from, err = strconv.ParseUint(t, 10, 64); err != nil {
			return nil, wire.Invalid(fmt.Sprintf("page_token %q: expected a next_page_token of ListBackfills", t))
		}
	}
	l, err := b.Member.Layout(ctx, kernel.LayoutName(req.GetLayout()))
	if err != nil {
		return nil, err
	}
	past, ok := b.past(l)
	if !ok {
		return nil, rpc.NewError(rpc.NoPast, fmt.Sprintf("layout %q was created without a past, and layouts never change", l.Name()))
	}
	resp := &snowraftv1.ListBackfillsResponse{
		PastUntilAtMs: l.MillisAt(past.Border), NextJob: past.NextJob, Capacity: past.Jobs, Closed: past.Closed,
	}
	b.Member.State().View(func(s *fsm.State) {
		for _, job := range s.Backfills(l.Name(), from, size+1) {
			if len(resp.Backfills) == size {
				resp.NextPageToken = strconv.FormatUint(job.Job, 10)
				return
			}
			resp.Backfills = append(resp.Backfills, backfillMessage(l, job))
		}
	})
	return resp, nil
}

func (b backfills) EndBackfill(ctx context.Context, req *snowraftv1.EndBackfillRequest) (*snowraftv1.EndBackfillResponse, error) {
	l, err := b.Member.LayoutAtLeader(ctx, kernel.LayoutName(req.GetLayout()))
	if err != nil {
		return nil, err
	}
	ended, err := b.Member.EndBackfill(ctx, l.Name(), req.GetJob())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.EndBackfillResponse{Backfill: backfillMessage(l, ended)}, nil
}

func (b backfills) ResumeBackfills(ctx context.Context, req *snowraftv1.ResumeBackfillsRequest) (*snowraftv1.ResumeBackfillsResponse, error) {
	next, err := b.Member.ResumeBackfills(ctx, kernel.LayoutName(req.GetLayout()), req.After)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.ResumeBackfillsResponse{NextJob: next}, nil
}

// past returns the past of a layout.
func (b backfills) past(l *snowflake.Layout) (past fsm.Past, ok bool) {
	b.Member.State().View(func(s *fsm.State) { past, ok = s.Past(l.Name()) })
	return past, ok
}

func backfillMessage(l *snowflake.Layout, b fsm.Backfill) *snowraftv1.Backfill {
	return &snowraftv1.Backfill{
		Job: b.Job, Holder: b.Holder, HolderTokenId: b.Owner, CreatedAtMs: b.CreatedMillis, Position: b.Place,
		PositionAtMs: l.MillisAt(b.Place / int64(l.Sequences())), Ended: b.Ended, //nolint:gosec // less than 2^63
	}
}
