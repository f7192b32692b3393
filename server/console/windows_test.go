package console_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// granted returns the healthy overview with windows of the members, of an application, and one that has ended.
func granted() *snowraftv1.Overview {
	o := healthy()
	at := o.GetComposedAtMs()
	row := func(worker uint64, holder, member string, from, until int64) *snowraftv1.WorkerWindow {
		return &snowraftv1.WorkerWindow{
			Worker: worker, Holder: holder, MemberId: member, Token: 100 + worker, FromAtMs: at + from, UntilAtMs: at + until,
			HighWaterAtMs: at + until, Held: until > 0,
		}
	}
	o.Windows = &snowraftv1.LayoutWindows{
		Layout: "default", Workers: 1024, Used: 5, Held: 4, TickMs: 1,
		Rows: []*snowraftv1.WorkerWindow{
			row(0, "a/0", "id-a", -100_000, 500_000), row(1, "b/0", "id-b", -3000, 2000), row(2, "c/1", "id-c", -3000, 20_000),
			row(3, "<i>shop</i>/0", "", -500, 60_000), row(4, "old/0", "", -30_000, -10_000),
		},
		Earlier: []*snowraftv1.WorkerWindow{row(3, "before/0", "", -20_000, -500)},
	}
	o.Windows.Rows[0].PositionAtMs = at - 1500
	o.Windows.Earlier[0].Token = 50
	return o
}

func TestWindowsShowsPictureAndTable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cluster.set(granted(), nil)
	page := r.ask("GET", "/console/windows", "").Body.String()
	r.wants(page, "Each row is a <b>worker</b>", "Layout default: 4 of its 1,024 workers are held now.", `id="worker-3"`,
		`href="?layout=default&amp;span=10m"`, `data-again="../console/windows"`, "clocks of a, b, c", "observed clock",
		"&lt;i&gt;shop&lt;/i&gt;", "!<i>shop", "snowraft worker list", `<b>2</b> <span>member c, lane 1</span>`, "!style=", "!ZgotmplZ")
	if got := r.cluster.layout(); got != "default" {
		t.Errorf("the page read the windows of layout %q, want default", got)
	}
	// The table has the same content as the bars.
	bar := regexp.MustCompile(`aria-label="worker (\d+), ([^"]*), fencing token (\d+), from ([0-9:.]+) until ([0-9:.]+), ([^"]*)"`)
	bars := bar.FindAllStringSubmatch(page, -1)
	for _, b := range bars {
		cells := fmt.Sprintf(`scope="row">Worker %s</th><td role="cell" class="free" data-label="Holder">%s</td><td role="cell" class="n" data-label="Fencing token">%s</td>`+
			`<td role="cell" class="free" data-label="State">%s</td><td role="cell" data-label="From">%s</td><td role="cell" data-label="Until">%s</td>`,
			b[1], b[2], b[3], b[6], b[4], b[5])
		if !strings.Contains(page, cells) {
			t.Errorf("the table has no row for the bar %q", html.UnescapeString(b[0]))
		}
	}
	if rows := strings.Count(page, `data-label="Holder"`); len(bars) != 6 || rows != 6 {
		t.Errorf("%d bars and %d rows, want 6 of each", len(bars), rows)
	}
}

func TestWindowsShowsProcesses(t *testing.T) {
	t.Parallel()
	r, o := newRig(t), granted()
	o.Windows.Rows[3].Process = &snowraftv1.HolderProcess{Host: "web-1", ProcessId: "812", Kind: "worker run", Version: "<b>1</b>"}
	r.cluster.set(o, nil)
	const process = "worker run &lt;b&gt;1&lt;/b&gt;, PID 812 on web-1"
	r.wants(r.ask("GET", "/console/windows", "").Body.String(), "<dt>Process</dt><dd>"+process+"</dd>", ", lane 0; "+process+"</td>")
}

func TestWindowsChoosesLayoutAndAxis(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := granted()
	o.Layouts = []string{"default", "orders"}
	o.Windows.Layout = "orders"
	r.cluster.set(o, nil)
	page := r.ask("GET", "/console/windows?layout=orders&span=10s", "").Body.String()
	r.wants(page, `<option selected>orders</option>`, `href="?layout=orders&amp;span=10s" aria-current="true"`, "&#43;10 s", "!&#43;10 min", "snowraft worker list --layout orders",
		"!compressed away")
	if got := r.cluster.layout(); got != "orders" {
		t.Errorf("the page read the windows of layout %q, want orders", got)
	}
	r.cluster.set(nil, rpc.NewError(rpc.UnknownLayout, `layout "nope" does not exist`))
	r.wants(r.ask("GET", "/console/windows?layout=nope", "").Body.String(), "Layout &#34;nope&#34; does not exist.")
}

func TestWindowsNeedTheirScope(t *testing.T) {
	t.Parallel()
	r, _, _, issuer := secured(t)
	r.wants(r.ask("GET", "/console/windows", "", "Authorization: Bearer "+issuer).Body.String(), "cluster:read", "!windows-picture")
}
