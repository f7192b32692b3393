package console

import (
	"context"
	"net/url"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// jobsOnPage is the number of backfill jobs on a page.
const jobsOnPage = 100

// past is the past of a layout, with its backfill jobs.
type past struct {
	Until             string // end of the past
	NextJob, Capacity string // number of the next job, and count of all jobs
	Closed            bool   // a restore closed the past
	Full              bool   // no further job can be started
	Jobs              []job
	Commands          []command
	pager
}

// job is a backfill job.
type job struct {
	*snowraftv1.Backfill
	Position, Started string
}

// pastOf returns the past of a layout; nil if it has none, or if the viewer may not see its jobs.
func pastOf(ctx context.Context, api *API, layout string, query url.Values) (*past, error) {
	const key = "job" // the query's field with the first job of the page
	from := query.Get(key)
	resp, err := api.Backfills.ListBackfills(ctx, &snowraftv1.ListBackfillsRequest{Layout: layout, PageSize: jobsOnPage, PageToken: from})
	switch failed := rpc.FromError(err); {
	case err != nil && (failed.Reason == rpc.NoPast || failed.Code == codes.Unimplemented): // a member of an earlier version answers a gateway
		return nil, nil //nolint:nilnil // a layout without a past
	case isDenied(err):
		return nil, nil //nolint:nilnil // the viewer learns nothing of jobs, not even whether the layout has a past
	case err != nil:
		return nil, err
	}
	p := &past{
		Until: stampMillis(resp.GetPastUntilAtMs()), NextJob: strconv.FormatUint(resp.GetNextJob(), 10), Closed: resp.GetClosed(),
		Capacity: strconv.FormatUint(resp.GetCapacity(), 10), Full: resp.GetNextJob() >= resp.GetCapacity(),
		pager: pagerBy(key, windowsPath, map[string]string{"layout": query.Get("layout")}, from, resp.GetNextPageToken()),
	}
	for _, b := range resp.GetBackfills() {
		p.Jobs = append(p.Jobs, job{b, stampMillis(b.GetPositionAtMs()), stampMillis(b.GetCreatedAtMs())})
	}
	p.Commands = []command{{Text: "snowraft backfill list " + argument(layout)}}
	if p.Closed {
		p.Commands = append(p.Commands, command{Label: "Open the past", Text: "snowraft backfill resume " + argument(layout) + " --after JOB"})
	}
	return p, nil
}
