package console

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

const windowsPath = root + "/windows"

// windowsPage lists the workers of a layout with their last windows.
var windowsPage = &page{
	name: "windows", path: windowsPath, title: "Windows", every: time.Second, reload: 5 * time.Second, scopes: nowPage.scopes,
	load: loadWindows,
}

// workersOnPage is the number of workers on a page.
const workersOnPage = 100

// windows is the data of the page.
type windows struct {
	Layout         string
	Layouts        []string
	Used, Capacity string
	Rows           []window
	Command        string
	Past           *past // nil if the layout has none
	pager
}

// window is a window of a worker.
type window struct {
	*snowraftv1.WorkerGrant
	Owner       string // the holder in words
	About       string // the holder's process in words; empty if unknown
	From, Until string
	Word        string // the state
}

func loadWindows(ctx context.Context, api *API, in *input) (any, error) {
	after := in.query.Get("after")
	w := &windows{Layout: cmp.Or(in.query.Get("layout"), snowflake.Default().Name()), Command: "snowraft worker list"}
	own, err := ownLayouts(ctx, api)
	if err != nil {
		return nil, err
	}
	for _, l := range own {
		w.Layouts = append(w.Layouts, l.Name())
	}
	resp, err := api.Workers.ListWorkers(ctx, &snowraftv1.ListWorkersRequest{Layout: w.Layout, PageSize: workersOnPage, PageToken: after})
	if err != nil {
		return nil, err
	}
	w.Used, w.Capacity = strconv.FormatUint(resp.GetUsed(), 10), strconv.FormatUint(resp.GetCapacity(), 10)
	for _, g := range resp.GetWorkers() {
		w.Rows = append(w.Rows, windowOf(g, in.overview))
	}
	w.pager = newPager(windowsPath, map[string]string{"layout": in.query.Get("layout")}, after, resp.GetNextPageToken())
	if w.Layout != snowflake.Default().Name() {
		w.Command += " --layout " + shell(w.Layout)
	}
	if w.Past, err = pastOf(ctx, api, w.Layout, in.query); err != nil {
		return nil, err
	}
	return w, nil
}

// windowOf returns a window. The overview names the members among the holders; it may be nil.
func windowOf(g *snowraftv1.WorkerGrant, o *snowraftv1.Overview) window {
	return window{
		WorkerGrant: g, Owner: ownerOf(g, o), About: rpc.ProcessText(g.GetProcess()), From: stampMillis(g.GetFromAtMs()),
		Until: stampMillis(g.GetUntilAtMs()), Word: apijson.Word(g.GetState()),
	}
}

// ownerOf returns the holder of a window in words. Lanes of members have names of the form "MEMBER/LANE" and no token.
func ownerOf(g *snowraftv1.WorkerGrant, o *snowraftv1.Overview) string {
	name := g.GetHolder()
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return name
	}
	lane, err := strconv.ParseUint(name[at+1:], 10, 16)
	if err != nil {
		return name
	}
	text := fmt.Sprintf("%s, lane %d", name[:at], lane)
	for _, m := range o.GetMembers() {
		if g.GetHolderTokenId() == 0 && m.GetMember().GetName() == name[:at] {
			return "member " + text
		}
	}
	return text
}
