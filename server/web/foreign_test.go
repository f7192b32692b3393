package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

// springFailure is the JSON of Spring Boot 1.5 for errors.
type springFailure struct {
	Timestamp                       int64
	Status                          int
	Error, Exception, Message, Path string
}

func parseSpring(t *testing.T, body string) springFailure {
	t.Helper()
	var f springFailure
	if err := json.Unmarshal([]byte(body), &f); err != nil || f.Timestamp == 0 {
		t.Fatalf("%q: %v", body, err)
	}
	return f
}

const leafException = "com.sankuai.inf.leaf.server.exception.LeafServerException"

func TestLeaf(t *testing.T) {
	r := newRig(t)
	w := r.ask("GET", "/api/segment/get/orders", "")
	want(t, w, 200, "1")
	if got := w.Header().Get("Content-Type"); got != "text/plain;charset=UTF-8" {
		t.Errorf("Content-Type: %s", got)
	}
	want(t, r.ask("POST", "/api/segment/get/orders?x=y", ""), 200, "2")
	want(t, r.ask("GET", "/api/segment/get/order%3Acn", ""), 200, "1")
	want(t, r.ask("GET", "/api/snowflake/get/default", ""), 200, "1")
	want(t, r.ask("GET", "/api/snowflake/get/x", ""), 200, "2")

	// Below a layout, all keys mean it.
	for i, key := range []string{"whatever", "default", "A%20b", "a/api/segment/get/b"} {
		want(t, r.ask("GET", "/leaf/x/api/snowflake/get/"+key, ""), 200, strconv.Itoa(3+i))
	}
	want(t, r.ask("GET", "/leaf/none/api/segment/get/orders", ""), 200, "3")
	want(t, r.ask("GET", "/leaf/none/api/segment/get/a/api/snowflake/get/b", ""), 200, "1")

	for _, c := range []struct {
		path   string
		err    *rpc.Error
		status int
		want   springFailure
	}{
		{"/api/segment/get/none", nil, 500, springFailure{Error: "Internal Server Error", Exception: leafException, Message: "Result{id=-2, status=EXCEPTION}"}},
		{"/api/segment/get/", nil, 404, springFailure{Error: "Not Found", Message: "No message available"}},
		{"/api/snowflake/get/whatever", nil, 500, springFailure{Error: "Internal Server Error", Exception: leafException, Message: "Result{id=-2, status=EXCEPTION}"}},
		{"/api/snowflake/get/", nil, 404, springFailure{Error: "Not Found", Message: "No message available"}},
		{"/leaf/none/api/snowflake/get/x", nil, 500, springFailure{Error: "Internal Server Error", Exception: leafException, Message: "Result{id=-2, status=EXCEPTION}"}},
		{"/leaf/x/api/snowflake/get/", nil, 404, springFailure{Error: "Not Found", Message: "No message available"}},
		{"/leaf//api/snowflake/get/x", nil, 404, springFailure{Error: "Not Found", Message: "No message available"}},
		{"/leaf/x/api/segment/get/", nil, 404, springFailure{Error: "Not Found", Message: "No message available"}},
		{"/api/segment/get/a", &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no\nleader", RetryAfter: time.Second}, 500,
			springFailure{Error: "Internal Server Error", Exception: leafException, Message: "Result{id=-3, status=EXCEPTION}"}},
		{"/api/snowflake/get/a", &rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind, Message: "behind", RetryAfter: time.Second}, 500,
			springFailure{Error: "Internal Server Error", Exception: leafException, Message: "Result{id=-3, status=EXCEPTION}"}},
		{"/api/snowflake/get/a", &rpc.Error{Code: codes.Unavailable, Reason: rpc.WindowEnded, Message: "ended", RetryAfter: time.Second}, 500,
			springFailure{Error: "Internal Server Error", Exception: leafException, Message: "Result{id=-1, status=EXCEPTION}"}},
	} {
		r.backend.err = nil
		if c.err != nil {
			r.backend.err = c.err
		}
		w := r.ask("GET", c.path, "")
		got := parseSpring(t, w.Body.String())
		c.want.Timestamp, c.want.Status, c.want.Path = got.Timestamp, c.status, c.path
		if w.Code != c.status || got != c.want {
			t.Errorf("%s: %d %+v", c.path, w.Code, got)
		}
		if e := c.err; e != nil && (w.Header().Get("Snowraft-Reason") != e.Reason || w.Header().Get("Retry-After") != "1" || w.Header().Get("Snowraft-Message") != strings.ReplaceAll(e.Message, "\n", " ")) {
			t.Errorf("%s: %v", c.path, w.Header())
		}
	}
	r.backend.err = nil
	before := r.backend.taken
	for _, path := range []string{"/api/segment/get/a", "/api/snowflake/get/a", "/tinyid/id/nextId?bizType=a", "/tinyid/id/nextIdSimple?bizType=a"} {
		if w := r.ask("HEAD", path, ""); w.Code != 405 || w.Header().Get("Allow") != "GET, POST" {
			t.Errorf("HEAD %s: %d %v", path, w.Code, w.Header())
		}
	}
	if r.backend.taken != before {
		t.Error("HEAD took a number")
	}
}

func TestTinyid(t *testing.T) {
	r := newRig(t)
	w := r.ask("GET", "/tinyid/id/nextId?bizType=orders&token=0f673adf80504e2eaa552f5d791b644c", "")
	want(t, w, 200, `{"data":[1],"code":200,"message":""}`)
	if got := w.Header().Get("Content-Type"); got != "application/json;charset=UTF-8" {
		t.Errorf("Content-Type: %s", got)
	}
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/tinyid/id/nextId", "bizType=orders&batchSize=2&token=t", `{"data":[2,3],"code":200,"message":""}`},
		{"GET", "/tinyid/id/nextIdSimple?bizType=orders&extra=1", "", "4"},
		{"GET", "/tinyid/id/nextIdSimple?bizType=orders&batchSize=3", "", "5,6,7"},
		{"POST", "/tinyid/id/nextIdSimple?bizType=orders", "batchSize=2", "8,9"},
		{"GET", "/tinyid/id/nextId?bizType=orders&batchSize=", "", `{"data":[10],"code":200,"message":""}`},
		{"GET", "/tinyid/id/nextId?bizType=orders&batchSize=0", "", `{"data":[],"code":200,"message":""}`},
		{"GET", "/tinyid/id/nextIdSimple?bizType=orders&batchSize=-5", "", ""},
		{"GET", "/tinyid/id/nextId", "", `{"data":null,"code":5,"message":"token is error"}`},
		{"GET", "/tinyid/id/nextIdSimple", "", ""},
		{"GET", "/tinyid/id/nextId?bizType=none", "", `{"data":null,"code":6,"message":"error query segmentId: can not find biztype:none"}`},
		{"GET", "/tinyid/id/nextIdSimple?bizType=none", "", ""},
	} {
		want(t, r.ask(c.method, c.path, c.body, form), 200, c.want)
	}
	w = r.ask("GET", "/tinyid/id/nextIdSimple?bizType=big&batchSize=2000000", "")
	if got := strings.Count(w.Body.String(), ",") + 1; got != 100_000 {
		t.Errorf("%d numbers", got)
	}
	w = r.ask("GET", "/tinyid/id/nextId?bizType=orders&batchSize=many", "")
	if f := parseSpring(t, w.Body.String()); w.Code != 400 || f.Error != "Bad Request" || !strings.HasSuffix(f.Message, `NumberFormatException: For input string: "many"`) {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	r.backend.err = &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader", RetryAfter: time.Second}
	w = r.ask("GET", "/tinyid/id/nextId?bizType=orders", "")
	want(t, w, 200, `{"data":null,"code":6,"message":"error query segmentId: no leader"}`)
	if w.Header().Get("Snowraft-Reason") != rpc.NoLeader || w.Header().Get("Retry-After") != "1" {
		t.Errorf("headers = %v", w.Header())
	}
	// The token may be in the form, so only a short one is read.
	for _, long := range []string{"bizType=" + strings.Repeat("x", 4<<10), strings.Repeat("a&", 2<<10) + "bizType=orders"} {
		if w := r.ask("POST", "/tinyid/id/nextId", long, form); w.Code != 413 {
			t.Errorf("form: status %d", w.Code)
		}
		if w := r.ask("GET", "/tinyid/id/nextId?"+long, ""); w.Code != 413 {
			t.Errorf("query: status %d", w.Code)
		}
	}
}

// forbidden reports whether an answer rejects a browser's request, in the form of its path.
func forbidden(path string, w *httptest.ResponseRecorder) bool {
	contentType, begin := "application/json;charset=UTF-8", `{"timestamp":`
	switch {
	case strings.HasPrefix(path, "/v1/"):
		contentType, begin = "application/json", `{"code":7,`
	case strings.HasPrefix(path, "/segments/"), strings.HasPrefix(path, "/ids/"):
		contentType, begin = "application/json", `{"code":"BROWSER_REQUEST",`
	case strings.HasPrefix(path, "/id"), strings.HasPrefix(path, "/seq/"):
		contentType, begin = "text/plain; charset=utf-8", rpc.BrowserRequest+": "
	case w.Header().Get("Snowraft-Reason") != rpc.BrowserRequest:
		return false
	}
	return w.Code == http.StatusForbidden && w.Header().Get("Content-Type") == contentType &&
		w.Header().Get("Cache-Control") == "no-store" && strings.HasPrefix(w.Body.String(), begin)
}
