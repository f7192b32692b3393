package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const relaxed = snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED

// sequences has the sequences that BeginSequence finds, by name.
var sequences = map[string]*snowraftv1.Sequence{
	"invoices/acme":    {Mode: relaxed}, // example in the OpenAPI document
	"shop.orders":      {Mode: relaxed, Increment: new(int64(1)), Next: new(int64(101)), MaxBlock: 10_000_000},
	"shop.a/b c":       {Mode: relaxed, Increment: new(int64(1)), Next: new(int64(1))},
	"shop.orders@2026": {Mode: relaxed, Increment: new(int64(1)), Next: new(int64(1))},
	"shop.full":        {Mode: relaxed, Increment: new(int64(1))},
	"shop.strict":      {Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Increment: new(int64(1)), Next: new(int64(1))},
	"shop.gapless":     {Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Increment: new(int64(1)), Next: new(int64(1))},
	"shop.daily":       {Mode: relaxed, Increment: new(int64(1)), Next: new(int64(1)), Period: "2026-11-30"},
	"shop.odd":         {Mode: relaxed, Increment: new(int64(2)), Next: new(int64(1))},
	"shop.down":        {Mode: relaxed, Increment: new(int64(-1)), Next: new(int64(-1))},
}

func (s *service) BeginSequence(ctx context.Context, req *snowraftv1.BeginSequenceRequest) (*snowraftv1.BeginSequenceResponse, error) {
	err := s.saw(ctx, req)
	found, ok := proto.Clone(sequences[req.GetName()]).(*snowraftv1.Sequence)
	switch {
	case err != nil:
		return nil, err
	case !ok || found == nil:
		return nil, rpc.NewError(rpc.UnknownSequence, "there is no sequence "+req.GetName()).GRPCStatus().Err()
	}
	found.Name = req.GetName()
	return &snowraftv1.BeginSequenceResponse{Sequence: found, Existed: true}, nil
}

// parseCosID returns the code and the message of an error of CosId's proxy server.
func parseCosID(t *testing.T, body string) (code, message string) {
	t.Helper()
	var e struct {
		Code, Msg string
		Errors    []string
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Errors == nil {
		t.Fatalf("%q: %v", body, err)
	}
	return e.Code, e.Msg
}

// A client of CosId issues the numbers of a segment from the last number and the step alone, whatever block was granted.
func TestCosIDSegments(t *testing.T) {
	r := newRig(t)
	for name, b := range blocks {
		step := b.GetCount()
		w := r.ask("PATCH", fmt.Sprintf("/segments/shop/%s?step=%d", name, step), "")
		fits := b.GetPeriod() == "" && b.GetFirst() > 0 && b.GetIncrement() == 1 && name != "edge"
		if fits {
			last, err := strconv.ParseInt(w.Body.String(), 10, 64)
			if err != nil || w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
				t.Fatalf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
			}
			if from := last - int64(step) + 1; from != b.GetFirst() {
				t.Errorf("%s: a client issues numbers from %d, want %d", name, from, b.GetFirst())
			}
		}
		// A step that is not exactly the block would let the client issue numbers of others.
		for _, other := range []uint64{step, step + 1, step - 1} {
			if other == 0 || fits && other == step {
				continue
			}
			r.service.request = nil
			w := r.ask("PATCH", fmt.Sprintf("/segments/shop/%s?step=%d", name, other), "")
			code, _ := parseCosID(t, w.Body.String())
			if w.Code != 400 || code != rpc.InvalidArgument && code != rpc.SequenceExhausted {
				t.Errorf("%s by a step of %d: %d %s", name, other, w.Code, w.Body)
			}
			returned, ok := r.service.request.(*snowraftv1.ReturnBlockRequest)
			if !ok || returned.GetUnused() != b.GetCount() || returned.GetSequence() != "shop."+name {
				t.Errorf("%s by a step of %d: the block did not go back: %v", name, other, r.service.request)
			}
		}
	}
	r.service.request = nil
	for _, query := range []string{"", "?step=", "?step=0", "?step=-1", "?step=x", "?step=1&step=2", "?step=1.5", "?step=100000001", "?step=9223372036854775808", "?offset=1"} {
		w := r.ask("PATCH", "/segments/shop/orders"+query, "")
		if code, _ := parseCosID(t, w.Body.String()); w.Code != 400 || code != rpc.InvalidArgument {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/segments/", "/segments/shop", "/segments/shop/", "/segments//orders", "/segments/a/b/c", "/segments/shop%2Forders", "/segments/distributor//b?offset=0&step=1"} {
		method := "PATCH"
		if strings.HasPrefix(path, "/segments/distributor") {
			method = "POST"
		}
		w := r.ask(method, path, "")
		if code, _ := parseCosID(t, w.Body.String()); w.Code != 404 || code != rpc.UnknownEndpoint {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := r.ask("PATCH", "/segments/shop/%ff?step=1", ""); w.Code != 400 || !strings.Contains(w.Body.String(), "UTF-8") {
		t.Errorf("a name that is not UTF-8: %d %s", w.Code, w.Body)
	}
	if r.service.request != nil {
		t.Errorf("an invalid request was served: %v", r.service.request)
	}
}

// The first call of a client creates nothing, and refuses a sequence whose segments the client cannot use.
func TestCosIDDistributors(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name         string
		offset, step int64
		reason, part string
	}{
		{"orders", 0, 100, "", ""},
		{"orders", 100, 1, "", ""},
		{"orders", 101, 1, rpc.InvalidArgument, "continues at 101, and the client expects numbers above its offset 101"},
		{"orders", 0, 10_000_000, "", ""},
		{"orders", 0, 10_000_001, rpc.InvalidArgument, "at most 10000000 numbers at once"},
		{"a/b c", 0, 1_000_000, "", ""},
		{"a/b c", 0, 1_000_001, rpc.InvalidArgument, "at most 1000000 numbers at once"},
		{"orders@2026", 0, 10, "", ""},
		{"full", 5, 10, "", ""},
		{"strict", 0, 1, rpc.InvalidArgument, "is not relaxed"},
		{"gapless", 0, 1, rpc.InvalidArgument, "is not relaxed"},
		{"daily", 0, 1, rpc.InvalidArgument, "begins again in each period"},
		{"odd", 0, 1, rpc.InvalidArgument, "increment other than 1"},
		{"down", 0, 1, rpc.InvalidArgument, "increment other than 1"},
		{"none", 0, 1, rpc.UnknownSequence, "create it as a relaxed sequence that begins after the last ID of CosId"},
		{"orders", -1, 1, rpc.InvalidArgument, "offset"},
		{"orders", 0, 0, rpc.InvalidArgument, "step"},
		{"orders", 0, 100_000_001, rpc.InvalidArgument, "step"},
	} {
		w := r.ask("POST", fmt.Sprintf("/segments/distributor/shop/%s?offset=%d&step=%d", url.PathEscape(c.name), c.offset, c.step), "")
		if c.reason == "" {
			want(t, w, 200, "")
			continue
		}
		code, message := parseCosID(t, w.Body.String())
		if code != c.reason || !strings.Contains(message, c.part) || w.Header().Get("Snowraft-Reason") != c.reason {
			t.Errorf("%s, offset %d, step %d: %d %s", c.name, c.offset, c.step, w.Code, w.Body)
		}
	}
	if r.backend.taken != 0 {
		t.Error("numbers were taken")
	}
}

// Machine numbers are refused in the way in which CosId's client shows the message to people.
func TestCosIDMachinesAreRefused(t *testing.T) {
	for _, r := range []*rig{newRig(t), securedRig(t)} {
		for _, method := range []string{"POST", "PATCH", "DELETE", "GET"} {
			w := r.ask(method, "/machines/shop?machineBit=10&instanceId=10.0.0.1%3A8080&stable=false&safeGuardDuration=PT5M", "")
			code, message := parseCosID(t, w.Body.String())
			if w.Code != http.StatusBadRequest || code != rpc.InvalidArgument || !strings.Contains(message, "snowraft worker run") {
				t.Errorf("%s: %d %s", method, w.Code, w.Body)
			}
		}
		if r.backend.taken != 0 || r.service.request != nil {
			t.Error("a machine was issued")
		}
	}
}

// IDs come from the layout that the path names, and no other.
func TestCosIDIDs(t *testing.T) {
	r := newRig(t)
	w := r.ask("GET", "/ids/default", "")
	want(t, w, 200, "1")
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type: %s", got)
	}
	want(t, r.ask("GET", "/ids/x", ""), 200, "2")
	want(t, r.ask("GET", "/ids/as-string/x", ""), 200, "00000000003")
	r.backend.id = 839299365868340223 // 62^10 - 1
	want(t, r.ask("GET", "/ids/as-string/default", ""), 200, "10000000000")
	r.backend.id = 1<<64 - 2
	want(t, r.ask("GET", "/ids/as-string/default", ""), 200, "LygHa16AHYF")
	r.backend.id = 61
	want(t, r.ask("GET", "/ids/as-string/default", ""), 200, "00000000010")
	taken := r.backend.taken
	for path, want := range map[string]int{"/ids/none": 404, "/ids/as-string/none": 404, "/ids/": 404, "/ids/as-string/": 404, "/ids": 404, "/ids/as-string": 404} {
		if w := r.ask("GET", path, ""); w.Code != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, method := range []string{"POST", "HEAD", "PATCH"} {
		if w := r.ask(method, "/ids/default", ""); w.Code != 405 || w.Header().Get("Allow") != "GET" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
	if r.backend.taken != taken {
		t.Error("a refused request took an ID")
	}
}

// Errors of the cluster keep their status, which a balancer reads, and their reason.
func TestCosIDShowsReasons(t *testing.T) {
	r := newRig(t)
	r.service.err = (&rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader"}).GRPCStatus().Err()
	r.backend.err = r.service.err
	for _, c := range [][2]string{{"PATCH", "/segments/shop/orders?step=10"}, {"POST", "/segments/distributor/shop/orders?offset=0&step=10"}, {"GET", "/ids/default"}} {
		w := r.ask(c[0], c[1], "")
		if code, message := parseCosID(t, w.Body.String()); w.Code != 503 || code != rpc.NoLeader || message != "no leader" {
			t.Errorf("%s %s: %d %s", c[0], c[1], w.Code, w.Body)
		}
	}
}
