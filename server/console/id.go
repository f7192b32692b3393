package console

import (
	"context"
	"math"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/console/pasted"
	"github.com/snowraft/snowraft/snowflake"
)

// idPage decodes an ID and shows the window that it came from. The page's address contains the ID, so that it can be stored
// and sent. An ID is not secret.
var idPage = &page{
	name: "id", path: root + "/id", title: "An ID", frame: true,
	load: func(ctx context.Context, api *API, in *input) (any, error) { return idOf(ctx, api, in) },
}

// maxLayoutPages bounds the number of calls for the list of layouts.
const maxLayoutPages = 2

// idData is the data of the page.
type idData struct {
	// Text, Encoding and Layout are the input. Error is the reason for a missing result.
	Text, Encoding, Layout string
	Error                  string
	Encodings, Layouts     []string

	Reading *reading
	Others  []reading // other readings of the text
	Fields  []bitField
	Forms   []form
	Who     *who
	Decode  string // command
}

// reading is a possible reading of the text.
type reading struct {
	pasted.Reading
	Link string
}

// LayoutName returns the name of the reading's layout, with "(preset)" if the cluster does not have the layout.
func (r reading) LayoutName() string {
	if r.Own {
		return r.Layout.Name()
	}
	return r.Layout.Name() + " (preset)"
}

// bitField is a field of an ID.
type bitField struct {
	Class, Name, Bits, Value, Meaning string
	Width                             uint8
}

// form is the ID in one encoding.
type form struct{ Name, Text string }

// Certain reports whether the cluster confirms the reading: it knows the window of the ID, or it created the UUID.
func (d *idData) Certain() bool {
	return d.Reading != nil && (d.Reading.Certain || d.Who != nil && d.Who.Grant != nil)
}

// who is the cluster's information about the window of an ID.
type who struct {
	Grant   *window  // nil: see Problem
	Rows    []window // the windows of the worker before the ID, of the ID and after it
	Meaning string   // meaning of the window's state
	Problem string   // reason for a missing grant
	Command string
}

func idOf(ctx context.Context, api *API, in *input) (*idData, error) {
	d := &idData{Text: in.query.Get("id"), Encoding: in.query.Get("encoding"), Layout: in.query.Get("layout")}
	own, err := ownLayouts(ctx, api)
	if err != nil {
		return nil, err
	}
	d.choices(own)
	if strings.TrimSpace(d.Text) == "" {
		return d, nil
	}
	readings, err := pasted.Read(d.Text, d.Encoding, d.Layout, pasted.Layouts{
		Own: own, ClusterID: in.overview.GetClusterId(), Now: in.now.UnixMilli(),
	})
	if err != nil {
		d.Error = upperFirst(err.Error())
		return d, nil
	}
	for i, r := range readings {
		link := url.Values{"id": {d.Text}, "encoding": {r.Encoding}, "layout": {r.Layout.Name()}}
		switch next := (reading{r, "?" + link.Encode()}); {
		case i == 0:
			d.Reading = &next
		case r.Doubt == "" || readings[0].Doubt != "":
			d.Others = append(d.Others, next)
		}
	}
	r := d.Reading
	d.Fields = fieldsOf(r.Reading, in.now.UnixMilli())
	d.Forms = formsOf(r.Reading, in.overview.GetClusterId())
	text := strings.Trim(strings.TrimSpace(d.Text), `"'`)
	d.Decode = commandOn("decode", text, r.Reading) + serverFlag(r.Reading)
	if r.Own && r.ID <= math.MaxInt64 {
		d.Who = whoIs(ctx, api, in, r.Reading)
		d.Who.Command = commandOn("whois", text, r.Reading)
	}
	return d, nil
}

// ownLayouts returns the layouts of the cluster.
func ownLayouts(ctx context.Context, api *API) ([]*snowflake.Layout, error) {
	var all []*snowflake.Layout
	token := ""
	for range maxLayoutPages {
		resp, err := api.Layouts.ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			return nil, err
		}
		for _, m := range resp.GetLayouts() {
			if l, err := snowflake.New(rpc.Spec(m)); err == nil {
				all = append(all, l)
			}
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	return all, nil
}

// choices sets the options of the form.
func (d *idData) choices(own []*snowflake.Layout) {
	for _, e := range snowflake.Encodings() {
		d.Encodings = append(d.Encodings, e.String())
	}
	d.Encodings = append(d.Encodings, pasted.UUID)
	seen := make(map[string]bool)
	for _, l := range append(own, snowflake.Presets()...) {
		if !seen[l.Name()] {
			seen[l.Name()] = true
			d.Layouts = append(d.Layouts, l.Name())
		}
	}
}

// fieldsOf returns the bit fields of an ID, from the highest to the lowest.
func fieldsOf(r pasted.Reading, now int64) []bitField {
	bits := strconv.FormatUint(r.ID, 2)
	bits = strings.Repeat("0", 64-len(bits)) + bits
	var fields []bitField
	rest := 64 - r.Layout.Bits()
	if rest > 0 {
		fields = append(fields, bitField{Class: "f-unused", Name: "unused", Bits: bits[:rest], Width: uint8(rest), Value: "0", Meaning: "An ID of this layout has " + strconv.Itoa(r.Layout.Bits()) + " bits."}) //nolint:gosec // at most 63
	}
	for _, f := range r.Layout.Spec().Fields {
		b := bitField{Class: "f-" + f.Field.String(), Name: f.Field.String(), Bits: bits[rest : rest+int(f.Bits)], Width: f.Bits}
		rest += int(f.Bits)
		switch f.Field {
		case snowflake.FieldTime:
			b.Value = stampMillis(r.At)
			b.Meaning = "UTC, " + ago(r.At-now) + ": tick " + strconv.FormatInt(r.Parts.Tick, 10) + " of " + strconv.FormatInt(r.Layout.Spec().UnitMillis, 10) + " ms"
		case snowflake.FieldDatacenter:
			b.Value, b.Meaning = strconv.FormatUint(r.Parts.Datacenter, 10), "the cluster, or the part of a system, that issued the ID"
		case snowflake.FieldWorker:
			b.Value, b.Meaning = strconv.FormatUint(r.Parts.Worker, 10), "the ID comes from a window of this worker"
		case snowflake.FieldSequence:
			b.Value, b.Meaning = strconv.FormatUint(r.Parts.Sequence, 10), "distinguishes IDs of one worker and tick"
		}
		fields = append(fields, b)
	}
	return fields
}

// formsOf returns an ID in each encoding, and as the UUID that the cluster derives from it.
func formsOf(r pasted.Reading, clusterID string) []form {
	var forms []form
	for _, e := range snowflake.Encodings() {
		forms = append(forms, form{e.String(), e.Encode(r.ID)})
	}
	if r.Own && clusterID != "" && r.Doubt == "" {
		if u, err := r.Layout.UUID(r.ID, snowflake.NewUUIDTag(clusterID, r.Layout.Name())); err == nil {
			forms = append(forms, form{pasted.UUID, u.String()})
		}
	}
	return forms
}

// commandOn returns a command for a pasted ID.
func commandOn(verb, text string, r pasted.Reading) string {
	line := "snowraft " + verb + " " + shell(text)
	if r.Layout.Name() != snowflake.Default().Name() {
		line += " --layout " + shell(r.Layout.Name())
	}
	if r.Encoding != snowflake.Decimal.String() && r.Encoding != pasted.UUID {
		line += " --encoding " + r.Encoding
	}
	return line
}

// serverFlag returns the flag for decoding IDs of layouts that the command line does not know; empty otherwise.
func serverFlag(r pasted.Reading) string {
	if _, preset := snowflake.Preset(r.Layout.Name()); r.Own && !preset {
		return " --server"
	}
	return ""
}

// meanings explains the states of a grant.
var meanings = map[snowraftv1.WorkerState]string{
	snowraftv1.WorkerState_WORKER_STATE_HELD:       "The window is open: its holder may still issue IDs from it.",
	snowraftv1.WorkerState_WORKER_STATE_EXPIRED:    "The window ended. Its holder did not extend it, for example because its process was killed. The next holder of the worker begins at the end or later.",
	snowraftv1.WorkerState_WORKER_STATE_RELEASED:   "The holder released the worker, usually because it shut down. The next holder of the worker begins at the end or later.",
	snowraftv1.WorkerState_WORKER_STATE_SUPERSEDED: "The worker was granted again later. The later window begins where this one ends or later, so the ID cannot come from it.",
}

// whoIs requests the window of an ID from the leader.
func whoIs(ctx context.Context, api *API, in *input, r pasted.Reading) *who {
	resp, err := api.IDs.WhoIs(ctx, &snowraftv1.WhoIsRequest{Id: int64(r.ID), Layout: r.Layout.Name()}) //nolint:gosec // the caller checked
	if err != nil {
		return &who{Problem: whoProblem(err)}
	}
	w := &who{Meaning: meanings[resp.GetGrant().GetState()]}
	for _, g := range []*snowraftv1.WorkerGrant{resp.GetPrevious(), resp.GetGrant(), resp.GetNext()} {
		if g == nil {
			continue
		}
		row := windowOf(g, in.overview)
		if w.Rows = append(w.Rows, row); g == resp.GetGrant() {
			w.Grant = &row
		}
	}
	return w
}

// whoProblem returns a text that explains a missing grant.
func whoProblem(err error) string {
	switch info := rpc.FromError(err); {
	case info.Reason == rpc.NotGranted:
		return message(err) + " The cluster remembers the last 10,000 windows of each layout, and the last one of each worker. An ID that this cluster never issued has no window either."
	case info.Code == codes.Unauthenticated || info.Code == codes.PermissionDenied:
		return message(err) + " With that right, this page also shows the window that the ID came from, and its holder."
	case info.Reason == rpc.NoLeader:
		return "Only the leader knows the window for certain, and there is none now. " + message(err)
	}
	return message(err)
}
