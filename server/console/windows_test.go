package console_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// workers is a fake WorkerService. Its second page is empty.
type workers struct {
	snowraftv1.UnimplementedWorkerServiceServer
}

func (workers) ListWorkers(_ context.Context, req *snowraftv1.ListWorkersRequest) (*snowraftv1.ListWorkersResponse, error) {
	if req.GetLayout() == "nope" {
		return nil, rpcError(rpc.NewError(rpc.UnknownLayout, `layout "nope" does not exist`))
	}
	resp := &snowraftv1.ListWorkersResponse{Capacity: 1024, Used: 4}
	if req.GetPageToken() != "" {
		return resp, nil
	}
	const at = 1_800_000_000_000
	for i, holder := range []string{"a/0", "c/1", "<i>shop</i>/0", "b/0"} {
		resp.Workers = append(resp.Workers, &snowraftv1.WorkerGrant{
			Worker: uint64(i), Holder: holder, Token: uint64(100 + i), FromAtMs: at, UntilAtMs: at + 500, State: snowraftv1.WorkerState_WORKER_STATE_HELD,
		})
	}
	resp.Workers[2].Process = &snowraftv1.HolderProcess{Host: "web-1", ProcessId: "812", Kind: "worker run", Version: "<b>1</b>"}
	resp.Workers[2].State = snowraftv1.WorkerState_WORKER_STATE_EXPIRED
	resp.Workers[3].HolderTokenId = 7 // a holder with a token is an application, whatever its name
	resp.NextPageToken = "4&5"
	return resp, nil
}

func TestWindowsListWorkersAndHolders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	page := r.ask("GET", "/console/windows", "").Body.String()
	cells := func(worker int, holder, state string) string {
		return fmt.Sprintf(`scope="row">Worker %d</th><td role="cell" class="free" data-label="Holder">%s</td><td role="cell" class="n" data-label="Fencing token">%d</td>`+
			`<td role="cell" data-label="State">%s</td><td role="cell" data-label="From">2027-01-15 08:00:00.000</td><td role="cell" data-label="Until">2027-01-15 08:00:00.500</td>`,
			worker, holder, 100+worker, state)
	}
	r.wants(page, "Layout default: 4 of its 1\u202f024 workers were granted so far.", cells(0, "member a, lane 0", "held"), cells(1, "member c, lane 1", "held"),
		cells(2, "&lt;i&gt;shop&lt;/i&gt;, lane 0; worker run &lt;b&gt;1&lt;/b&gt;, PID 812 on web-1", "expired"), cells(3, "b, lane 0", "held"),
		`data-again="../console/windows"`, "snowraft worker list", `href="../console/windows?after=4%265"`, "!First page", "!style=", "!ZgotmplZ")
	r.wants(r.ask("GET", "/console/windows?after=4", "").Body.String(), "First page", "!Next page", "!No worker of this layout")
}

func TestWindowsChooseALayout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants(r.ask("GET", "/console/windows", "").Body.String(), "!<select")
	other, _ := snowflake.Preset("discord")
	r.layouts.more.Store(rpc.Layout(other.Spec()))
	r.wants(r.ask("GET", "/console/windows?layout=discord", "").Body.String(), `<option>default</option><option selected>discord</option>`, "Layout discord: ",
		"snowraft worker list --layout discord", `href="../console/windows?after=4%265&amp;layout=discord"`)
	r.wants(r.ask("GET", "/console/windows?layout=nope", "").Body.String(), "Layout &#34;nope&#34; does not exist.")
}

func TestWindowsNeedTheirScope(t *testing.T) {
	t.Parallel()
	r, _, _, issuer := secured(t)
	r.wants(r.ask("GET", "/console/windows", "", "Authorization: Bearer "+issuer).Body.String(), "cluster:read", "!windows-list")
}
