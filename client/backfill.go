package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Backfill is a backfill job: it issues IDs of the past of a layout, for rows that are imported. It must not be used by two goroutines
// at once.
type Backfill struct {
	// Job is the number of the job, which is the worker of its IDs.
	Job uint64
	// Within is the time by which an ID may be later than its row, at most 24 h. It is needed only if more rows share a tick
	// of the layout than the tick has IDs.
	Within time.Duration
	// Position is the position of the job after its last batch. It only grows.
	Position int64

	backfills snowraftv1.BackfillServiceClient
	layout    string
}

// StartBackfill starts a backfill job of a layout that was created with a past. The holder is a name for people. A layout has as many
// jobs as workers, and they are never forgotten.
func (c *Client) StartBackfill(ctx context.Context, layout, holder string) (*Backfill, error) {
	backfills := snowraftv1.NewBackfillServiceClient(c.leader)
	resp, err := backfills.StartBackfill(ctx, &snowraftv1.StartBackfillRequest{Layout: layout, Holder: holder})
	if err != nil {
		return nil, err
	}
	return &Backfill{Job: resp.GetBackfill().GetJob(), backfills: backfills, layout: layout}, nil
}

// ContinueBackfill returns a job that exists, at its present position. No other program may use the job.
func (c *Client) ContinueBackfill(ctx context.Context, layout string, job uint64) (*Backfill, error) {
	backfills := snowraftv1.NewBackfillServiceClient(c.leader)
	resp, err := backfills.ListBackfills(ctx, &snowraftv1.ListBackfillsRequest{Layout: layout, PageSize: 1, PageToken: strconv.FormatUint(job, 10)})
	if err != nil {
		return nil, err
	}
	for _, b := range resp.GetBackfills() {
		if b.GetJob() == job {
			return &Backfill{Job: job, backfills: backfills, layout: layout, Position: b.GetPosition()}, nil
		}
	}
	return nil, &Error{Reason: rpc.UnknownBackfill, code: codes.NotFound, message: fmt.Sprintf("layout %q has no backfill job %d", layout, job)}
}

// IDs returns an ID for each row, at the time of the row. The times of all calls come in order, and lie between the epoch of the layout
// and its creation. IDs ascend. IDs sends batches of 10,000 rows. After an error, it returns the IDs of the rows before the failed
// batch. Then start another job for the rest of the rows, unless the error names a row that is to be corrected.
func (b *Backfill) IDs(ctx context.Context, times []time.Time) (ids []int64, err error) {
	for len(times) > 0 {
		batch := times[:min(len(times), limits.BackfillRows)]
		times = times[len(batch):]
		req := &snowraftv1.BackfillIdsRequest{
			Layout: b.layout, Job: b.Job, Position: b.Position, WithinMs: b.Within.Milliseconds(), RequestId: rand.Text(),
			TimesMs: make([]int64, len(batch)),
		}
		for i, at := range batch {
			req.TimesMs[i] = at.UnixMilli()
		}
		resp, err := b.backfills.BackfillIds(ctx, req)
		if err != nil {
			return ids, err
		}
		if len(resp.GetIds()) != len(batch) {
			return ids, malformed("%d IDs for %d rows", len(resp.GetIds()), len(batch))
		}
		ids, b.Position = append(ids, resp.GetIds()...), resp.GetPosition()
	}
	return ids, nil
}

// End ends the job for good.
func (b *Backfill) End(ctx context.Context) error {
	_, err := b.backfills.EndBackfill(ctx, &snowraftv1.EndBackfillRequest{Layout: b.layout, Job: b.Job})
	return err
}
