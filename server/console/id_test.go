package console_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// ids is a fake IdService in which every ID lies in the same window.
type ids struct {
	snowraftv1.UnimplementedIdServiceServer
	mu   sync.Mutex
	resp *snowraftv1.WhoIsResponse
	err  error
	req  *snowraftv1.WhoIsRequest // the last request
}

func (i *ids) WhoIs(_ context.Context, req *snowraftv1.WhoIsRequest) (*snowraftv1.WhoIsResponse, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.req = req
	return i.resp, rpcError(i.err)
}

func (i *ids) set(resp *snowraftv1.WhoIsResponse, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.resp, i.err = resp, err
}

// layouts is a fake LayoutService with the default layout and more.
type layouts struct {
	snowraftv1.UnimplementedLayoutServiceServer
	more atomic.Pointer[snowraftv1.Layout]
}

func (l *layouts) ListLayouts(context.Context, *snowraftv1.ListLayoutsRequest) (*snowraftv1.ListLayoutsResponse, error) {
	resp := &snowraftv1.ListLayoutsResponse{Layouts: []*snowraftv1.Layout{rpc.Layout(snowflake.Default().Spec())}}
	if more := l.more.Load(); more != nil {
		resp.Layouts = append(resp.Layouts, more)
	}
	return resp, nil
}

// issued returns an ID that worker 3 issued a minute ago, and the window of that ID.
func issued(t *testing.T) (text string, resp *snowraftv1.WhoIsResponse) {
	t.Helper()
	at := time.Now().Add(-time.Minute).UnixMilli()
	id, err := snowflake.Default().Pack(snowflake.Parts{Tick: snowflake.Default().TickAt(at), Worker: 3, Sequence: 77})
	if err != nil {
		t.Fatal(err)
	}
	grant := func(token uint64, holder string, from, until int64, state snowraftv1.WorkerState) *snowraftv1.WorkerGrant {
		return &snowraftv1.WorkerGrant{Worker: 3, Holder: holder, Token: token, FromAtMs: at + from, UntilAtMs: at + until, State: state}
	}
	return snowflake.Decimal.Encode(id), &snowraftv1.WhoIsResponse{
		Grant:    grant(20, "b/0", -5000, 5000, snowraftv1.WorkerState_WORKER_STATE_SUPERSEDED),
		Previous: grant(10, "shop/1", -9000, -6000, snowraftv1.WorkerState_WORKER_STATE_SUPERSEDED),
		Next:     grant(30, "c/0", 5000, 90_000, snowraftv1.WorkerState_WORKER_STATE_HELD),
	}
}

func TestIDIsDecodedWithItsWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text, resp := issued(t)
	r.ids.set(resp, nil)
	page := r.ask("GET", "/console/id?id="+text, "").Body.String()
	r.wants(page, text+"</code> in layout default", "<b>time</b>", "41 bits", "<b>worker</b>", "0000000011", "000001001101", // 3 and 77
		"Only member b, lane 0 could issue this ID", "superseded", "fencing token 20",
		"shop, lane 1", "member c, lane 0", "snowraft decode "+text, "snowraft whois "+text, "!style=", "!ZgotmplZ", "!Doubtful")
	if r.ids.req.GetLayout() != "default" || r.ids.req.GetId() == 0 {
		t.Errorf("the page requested %v", r.ids.req)
	}
	// The same ID in another encoding.
	id, err := snowflake.Decimal.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	for !strings.ContainsFunc(snowflake.Base58.Encode(id), unicode.IsUpper) { // the page takes such a text for base36
		id++
	}
	text = snowflake.Decimal.Encode(id)
	base58 := snowflake.Base58.Encode(id)
	r.wants(r.ask("GET", "/console/id?id="+base58, "").Body.String(), text+"</code> in layout default", "snowraft whois "+base58+" --encoding base58")
}

func TestIDOfAnotherSystemHasNoWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	page := r.ask("GET", "/console/id?id=175928847299117063&layout=discord", "").Body.String()
	r.wants(page, "in layout discord (preset)", "2016-04-30 11:18:25.796", "<b>datacenter</b>", "did not issue the ID", "snowraft decode 175928847299117063 --layout discord", "!whois")
	if r.ids.req != nil {
		t.Errorf("the page requested %v", r.ids.req)
	}
	// Without a layout, the page offers all matching layouts.
	r.wants(r.ask("GET", "/console/id?id=1541815603606036480", "").Body.String(), "twitter (preset)", "could also be", "discord (preset)", `?encoding=dec&amp;id=1541815603606036480&amp;layout=`)
}

func TestIDShowsReasonForMissingAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text, _ := issued(t)
	for _, c := range []struct {
		id   string
		err  error
		want []string
	}{
		{"", nil, []string{"Paste an ID", "!id-error", "snowraft id"}},
		{"hello <b>world</b>", nil, []string{`id="id-error"`, "no encoding has the character &#39; &#39;", "!<b>world"}},
		{"f47ac10b-58cc-4372-a567-0e02b2c3d479", nil, []string{"has version 4"}},
		{text, rpc.NewError(rpc.NotGranted, "the history has no window of worker 3"), []string{"The history has no window of worker 3.", "the last 10,000 windows", "<b>worker</b>"}},
		{text, rpc.NewError(rpc.NoLeader, "election in progress"), []string{"Only the leader knows the window", "Election in progress.", "<b>worker</b>"}},
	} {
		r.ids.set(nil, c.err)
		r.wants(r.ask("GET", "/console/id?id="+url.QueryEscape(c.id), "").Body.String(), c.want...)
	}
}

func TestIDNamesTheMissingScope(t *testing.T) {
	t.Parallel()
	r, _, reader, issuer := secured(t)
	text, resp := issued(t)
	r.ids.set(resp, nil)
	r.wants(r.ask("GET", "/console/id?id="+text, "", "Authorization: Bearer "+issuer).Body.String(),
		"<b>worker</b>", "cluster:read", "With that right", "!could issue this ID")
	r.wants(r.ask("GET", "/console/id?id="+text, "", "Authorization: Bearer "+reader).Body.String(), "could issue this ID")
}

func TestIDKnowsUUIDsOfTheCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text, resp := issued(t)
	r.ids.set(resp, nil)
	id, err := snowflake.Decimal.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	for cluster, want := range map[string]string{"c1": "This cluster made the UUID.", "c2": "Doubtful: another system made this UUID"} {
		u, err := snowflake.Default().UUID(id, snowflake.NewUUIDTag(cluster, "default"))
		if err != nil {
			t.Fatal(err)
		}
		r.wants(r.ask("GET", "/console/id?id="+u.String(), "").Body.String(), want, text)
	}
	o := proto.CloneOf(healthy())
	o.ClusterId = ""
	r.cluster.set(o, nil)
	r.wants(r.ask("GET", "/console/id?id="+text, "").Body.String(), "!uuid</dt>")
}
