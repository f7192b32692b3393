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
	want(t, r.ask("GET", "/id?n=3&layout=x", ""), 200, "3\n4\n5\n")
	want(t, r.ask("POST", "/id", "n=2&layout=x", form), 200, "6\n7\n")
	want(t, r.ask("GET", "/seq/orders", ""), 200, "1\n")
	want(t, r.ask("GET", "/seq/orders?n=2", ""), 200, "2\n3\n")
	want(t, r.ask("POST", "/seq/orders", "n=2", form), 200, "4\n5\n")
	want(t, r.ask("GET", "/seq/dated?n=2&", ""), 200, "ORD-1\nORD-2\n")
	for _, path := range []string{"/seq/a/b:c.d", "/seq/a%2Fb:c.d", "/seq/a%2fb%3Ac%2ed"} {
		r.ask("GET", path, "")
	}
	if got := r.backend.next["a/b:c.d"]; got != 3 {
		t.Errorf("the three forms of a name took %d numbers: %v", got, r.backend.next)
	}
	r.ask("GET", "/seq/100%2525?n=%31", "")
	r.ask("GET", "/seq/a//b", "")
	if r.backend.next["100%25"] != 1 || r.backend.next["a//b"] != 1 {
		t.Errorf("%v", r.backend.next)
	}
	w := r.ask("GET", "/id?n=1000", "")
	if got := strings.Count(w.Body.String(), "\n"); got != 1000 || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
		t.Errorf("%d lines, headers %v", got, w.Header())
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: %s", got)
	}
	if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("Content-Type: %s", got)
	}
	if got := r.served[0]; got != "/id 200" {
		t.Errorf("served %s", got)
	}
}

// pieces is an answer that remembers the longest piece it was written in, and fails
// once there are as many as it takes.
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

// A long answer is never in memory as a whole, and a reader who left ends it.
func TestLongText(t *testing.T) {
	r := newRig(t)
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	for _, path := range []string{"/id?n=100000", "/seq/dated?n=100000"} {
		p := &pieces{httptest.NewRecorder(), 0, 1000}
		r.handler.ServeHTTP(p, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if got := strings.Count(p.Body.String(), "\n"); p.Code != 200 || got != 100_000 || p.longest > 64<<10 {
			t.Errorf("%s: %d, %d lines, a piece of %d bytes", path, p.Code, got, p.longest)
		}
		p = &pieces{httptest.NewRecorder(), 0, 1}
		r.handler.ServeHTTP(p, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if p.left < -2 || p.Body.Len() == 0 {
			t.Errorf("%s: written to %d times after the reader left", path, -p.left)
		}
		resp, err := http.Get(server.URL + path)
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
		{"HEAD", "/id", "", 405, "/id takes GET, POST, not HEAD"},
		{"HEAD", "/seq/orders", "", 405, "/seq/orders takes GET, POST, not HEAD"},
		{"PUT", "/seq/orders", "", 405, "/seq/orders takes GET, POST, not PUT"},
		{"GET", "/id?n=0", "", 400, "INVALID_ARGUMENT: n is 0, expected 1 to 100000"},
		{"GET", "/id?n=100001", "", 400, "INVALID_ARGUMENT: n is 100001, expected 1 to 100000"},
		{"GET", "/id?n=-1", "", 400, "INVALID_ARGUMENT: n is -1, expected 1 to 100000"},
		{"GET", "/id?n", "", 400, "INVALID_ARGUMENT: n is , expected 1 to 100000"},
		{"GET", "/id?count=5", "", 400, "INVALID_ARGUMENT: count is no parameter here, expected n or layout"},
		{"GET", "/seq/a?layout=x", "", 400, "INVALID_ARGUMENT: layout is no parameter here, expected n"},
		{"GET", "/seq/a?n=%zz", "", 400, `INVALID_ARGUMENT: n can't be read: invalid URL escape "%zz"`},
		{"GET", "/id?n=1&n=2", "", 400, "INVALID_ARGUMENT: n is there twice, expected it once"},
		{"GET", "/id?n=1&layout=x&n=1", "", 400, "INVALID_ARGUMENT: n is there twice, expected it once"},
		{"GET", "/id?layout=x&layout=y", "", 400, "INVALID_ARGUMENT: layout is there twice, expected it once"},
		{"GET", "/seq/a?n=1&n=2", "", 400, "INVALID_ARGUMENT: n is there twice, expected it once"},
		{"POST", "/seq/a?n=1", "n=2", 400, "INVALID_ARGUMENT: n is there twice, expected it once"},
		{"GET", "/seq/", "", 404, "INVALID_ARGUMENT: the path ends before the sequence's name: /seq/NAME"},
		{"GET", "/seq/none", "", 404, "UNKNOWN_SEQUENCE: there is no sequence none"},
		{"GET", "/id?layout=no%0a%1b[31m", "", 404, "UNKNOWN_LAYOUT: there is no layout no  [31m"},
		{"POST", "/id", `{"n":5}`, 400, `INVALID_ARGUMENT: {"n":5} is no parameter here, expected n or layout`},
		{"POST", "/id", strings.Repeat("x", 65<<10), 413, "INVALID_ARGUMENT: the body is longer than 65536 bytes"},
		{"GET", "/seq/broken", "", 500, "the request failed inside the member; its log says more"},
	} {
		w := r.ask(c.method, c.path, c.body)
		want(t, w, c.status, c.line+"\n")
		if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("%s %s: Content-Type %s", c.method, c.path, got)
		}
	}
	if r.backend.taken != 0 {
		t.Errorf("%d numbers were taken", r.backend.taken)
	}
	r.backend.err = &rpc.Error{Code: codes.Unavailable, Reason: rpc.WindowEnded, Message: "the window ended", RetryAfter: 500 * time.Millisecond}
	for _, path := range []string{"/id", "/seq/a"} {
		w := r.ask("GET", path, "")
		want(t, w, 503, "WINDOW_ENDED: the window ended\n")
		if got := w.Header().Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After: %s", got)
		}
	}
	r.backend.err = context.DeadlineExceeded
	want(t, r.ask("GET", "/id", ""), 504, "context deadline exceeded\n")
}

// shutGate keeps everybody out.
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
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
