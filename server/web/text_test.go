package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/web"
)

const form = "Content-Type: application/x-www-form-urlencoded"

func TestText(t *testing.T) {
	r := newRig(t)
	want(t, r.ask("GET", "/id", ""), 200, "1\n")
	want(t, r.ask("POST", "/id", ""), 200, "2\n")
	want(t, r.ask("GET", "/id?count=3&layout=x", ""), 200, "3\n4\n5\n")
	want(t, r.ask("POST", "/id", "count=2&layout=x", form), 200, "6\n7\n")
	want(t, r.ask("POST", "/seq/orders", ""), 200, "1\n")
	want(t, r.ask("POST", "/seq/orders?count=2", ""), 200, "2\n3\n")
	want(t, r.ask("POST", "/seq/orders", "count=2", form), 200, "4\n5\n")
	want(t, r.ask("POST", "/seq/dated?count=2&", ""), 200, "ORD-1\nORD-2\n")
	for range 2 {
		want(t, r.ask("POST", "/seq/orders", "count=2&request_id=cart%2F1", form), 200, "6\n7\n")
		want(t, r.ask("POST", "/seq/orders?count=2&request_id=cart%2F1", ""), 200, "6\n7\n")
	}
	for _, path := range []string{"/seq/a/b:c.d", "/seq/a%2Fb:c.d", "/seq/a%2fb%3Ac%2ed"} {
		r.ask("POST", path, "")
	}
	if got := r.backend.next["a/b:c.d"]; got != 3 {
		t.Errorf("the three forms of a name took %d numbers: %v", got, r.backend.next)
	}
	r.ask("POST", "/seq/100%2525?count=%31", "")
	r.ask("POST", "/seq/a//b", "")
	if r.backend.next["100%25"] != 1 || r.backend.next["a//b"] != 1 {
		t.Errorf("%v", r.backend.next)
	}
	w := r.ask("GET", "/id?count=1000", "")
	if got := strings.Count(w.Body.String(), "\n"); got != 1000 || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
		t.Errorf("%d lines, headers %v", got, w.Header())
	}
	if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("Content-Type: %s", got)
	}
}

// TestTextIsNotStored checks that no cache keeps numbers, whatever method took them, or refusals.
func TestTextIsNotStored(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ method, path string }{
		{"GET", "/id"}, {"POST", "/id"}, {"POST", "/seq/orders"}, {"GET", "/seq/orders"}, {"GET", "/id?count=0"},
		{"GET", "/api/segment/get/a"}, {"GET", "/api/snowflake/get/x"}, {"GET", "/tinyid/id/nextId?bizType=a"},
		{"PATCH", "/segments/shop/orders?step=10000"}, {"PATCH", "/segments/shop/odd?step=1"}, {"POST", "/segments/distributor/shop/orders?offset=0&step=1"},
		{"GET", "/ids/x"}, {"GET", "/ids/none"}, {"POST", "/machines/shop"},
	} {
		if got := r.ask(c.method, c.path, "").Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s %s: Cache-Control %q", c.method, c.path, got)
		}
	}
}

func TestSpeculativeRequestsTakeNothing(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/id", "/ids/x", "/api/segment/get/a", "/leaf/x/api/snowflake/get/a", "/tinyid/id/nextId?bizType=a"} {
		for _, header := range []string{
			"Sec-Purpose: prefetch", "Sec-Purpose: prefetch;prerender", "Sec-Purpose: prefetch;anonymous-client-ip",
			"Purpose: prefetch", "Purpose: preview", "X-Moz: Prefetch",
		} {
			w := r.ask("GET", path, "", header, "Sec-Fetch-Site: none")
			if !forbidden(path, w) || !strings.Contains(w.Body.String(), "prefetch") {
				t.Errorf("GET %s, %s: %d %s", path, header, w.Code, w.Body)
			}
		}
	}
	if r.backend.taken != 0 {
		t.Errorf("%d numbers were taken", r.backend.taken)
	}
	if w := r.ask("GET", "/docs", "", "Sec-Purpose: prefetch"); w.Code != http.StatusOK {
		t.Errorf("a page: %d", w.Code)
	}
	want(t, r.ask("GET", "/id", "", "Purpose: something"), http.StatusOK, "1\n")
}

// pieces is a response that stores the length of its longest piece, and fails after a number of pieces.
type pieces struct {
	*httptest.ResponseRecorder
	longest, left int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.longest = max(p.longest, len(b))
	if p.left--; p.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return p.ResponseRecorder.Write(b)
}

// A long answer is never in memory as a whole, and ends when its reader has left.
func TestLongText(t *testing.T) {
	r := newRig(t)
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	for _, path := range []string{"/id?count=100000", "/seq/dated?count=100000"} {
		p := &pieces{httptest.NewRecorder(), 0, 1000}
		r.handler.ServeHTTP(p, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		if got := strings.Count(p.Body.String(), "\n"); p.Code != 200 || got != 100_000 || p.longest > 64<<10 {
			t.Errorf("%s: %d, %d lines, a piece of %d bytes", path, p.Code, got, p.longest)
		}
		p = &pieces{httptest.NewRecorder(), 0, 1}
		r.handler.ServeHTTP(p, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		if p.left < -2 || p.Body.Len() == 0 {
			t.Errorf("%s: written to %d times after the reader left", path, -p.left)
		}
		resp, err := http.Post(server.URL+path, "", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := strings.Count(string(raw), "\n"); err != nil || got != 100_000 || resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s over a connection: %d lines, %v, %v", path, got, err, resp.Header)
		}
	}
}

func TestTextRefusals(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		line               string
	}{
		{"HEAD", "/id", "", 405, "METHOD_NOT_ALLOWED: /id takes GET, POST, not HEAD"},
		{"GET", "/seq/orders", "", 405, "METHOD_NOT_ALLOWED: /seq/orders takes POST, not GET; a request takes numbers, and clients and proxies may repeat any other method"},
		{"HEAD", "/seq/orders", "", 405, "METHOD_NOT_ALLOWED: /seq/orders takes POST, not HEAD; a request takes numbers, and clients and proxies may repeat any other method"},
		{"PUT", "/seq/orders", "", 405, "METHOD_NOT_ALLOWED: /seq/orders takes POST, not PUT; a request takes numbers, and clients and proxies may repeat any other method"},
		{"GET", "/id?count=0", "", 400, `INVALID_ARGUMENT: count "0": expected a whole number from 1 to 100000`},
		{"GET", "/id?count=100001", "", 400, `INVALID_ARGUMENT: count "100001": expected a whole number from 1 to 100000`},
		{"GET", "/id?count=-1", "", 400, `INVALID_ARGUMENT: count "-1": expected a whole number from 1 to 100000`},
		{"GET", "/id?count", "", 400, `INVALID_ARGUMENT: count "": expected a whole number from 1 to 100000`},
		{"GET", "/id?n=5", "", 400, "INVALID_ARGUMENT: unknown parameter n; send count or layout"},
		{"GET", "/id?request_id=a", "", 400, "INVALID_ARGUMENT: unknown parameter request_id; send count or layout"},
		{"POST", "/seq/a?layout=x", "", 400, "INVALID_ARGUMENT: unknown parameter layout; send count or request_id"},
		{"POST", "/seq/a?count=%zz", "", 400, `INVALID_ARGUMENT: parameter count: invalid URL escape "%zz"`},
		{"GET", "/id?count=1&count=2", "", 400, "INVALID_ARGUMENT: parameter count is repeated; send it once"},
		{"GET", "/id?count=1&layout=x&count=1", "", 400, "INVALID_ARGUMENT: parameter count is repeated; send it once"},
		{"GET", "/id?layout=x&layout=y", "", 400, "INVALID_ARGUMENT: parameter layout is repeated; send it once"},
		{"POST", "/seq/a?count=1&count=2", "", 400, "INVALID_ARGUMENT: parameter count is repeated; send it once"},
		{"POST", "/seq/a?count=1", "count=2", 400, "INVALID_ARGUMENT: parameter count is repeated; send it once"},
		{"POST", "/seq/a?request_id=1", "request_id=2", 400, "INVALID_ARGUMENT: parameter request_id is repeated; send it once"},
		{"POST", "/seq/a", "request_id=", 400, "INVALID_ARGUMENT: parameter request_id is empty; send a value, or omit it"},
		{"POST", "/seq/", "", 404, "INVALID_ARGUMENT: missing name of the sequence; use /seq/NAME"},
		{"POST", "/seq/none", "", 404, "UNKNOWN_SEQUENCE: there is no sequence none"},
		{"GET", "/id?layout=no%0a%1b[31m", "", 404, "UNKNOWN_LAYOUT: there is no layout no  [31m"},
		{"POST", "/id", `{"count":5}`, 400, `INVALID_ARGUMENT: unknown parameter {"count":5}; send count or layout`},
		{"POST", "/id", strings.Repeat("x", 65<<10), 413, "INVALID_ARGUMENT: body: expected at most 65536 bytes"},
		{"POST", "/seq/broken", "", 500, "INTERNAL: the request failed inside the member; see its log"},
	} {
		w := r.ask(c.method, c.path, c.body)
		want(t, w, c.status, c.line+"\n")
		if got := w.Header().Get("Allow"); (got == "POST") != strings.Contains(c.line, "takes POST") {
			t.Errorf("%s %s: Allow %s", c.method, c.path, got)
		}
		if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("%s %s: Content-Type %s", c.method, c.path, got)
		}
	}
	if r.backend.taken != 0 {
		t.Errorf("%d numbers were taken", r.backend.taken)
	}
	r.backend.err = &rpc.Error{Code: codes.Unavailable, Reason: rpc.WindowEnded, Message: "the window ended", RetryAfter: 500 * time.Millisecond}
	for _, path := range []string{"/id", "/seq/a"} {
		w := r.ask("POST", path, "")
		want(t, w, 503, "WINDOW_ENDED: the window ended\n")
		if got := w.Header().Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After: %s", got)
		}
	}
	r.backend.err = context.DeadlineExceeded
	want(t, r.ask("GET", "/id", ""), 504, "context deadline exceeded\n")
}

// shutGate rejects all requests.
type shutGate struct{}

func (shutGate) Enter() error {
	return &rpc.Error{Code: codes.Unavailable, Reason: rpc.ShuttingDown, Message: "this member is shutting down"}
}
func (shutGate) Leave() { panic("left what was never entered") }

func TestGate(t *testing.T) {
	r := newRig(t, func(c *web.Config) { c.Gate = shutGate{} })
	want(t, r.ask("GET", "/id", ""), 503, "SHUTTING_DOWN: this member is shutting down\n")
	w := r.ask("GET", "/v1/status", "")
	if s := parseStatus(t, w.Body.String()); w.Code != http.StatusServiceUnavailable || s.Details[0].Reason != rpc.ShuttingDown {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
}
