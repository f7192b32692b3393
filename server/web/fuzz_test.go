package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"encoding/json"
)

// FuzzHTTP sends random requests to every endpoint. Every answer must be well-formed JSON or text, and must not report an
// internal error.
func FuzzHTTP(f *testing.F) {
	for _, path := range []string{
		"/id?count=3", "/seq/a%2fb?count=2&request_id=a", "/seq/", "/v1/ids:generate", "/v1/sequences/a/b:next", "/v1/sequences:last?sequence=a", "/v1/sequences/:last",
		"/v1/sequences/a?force=true", "/v1/ids/12/grant", "/v1/members/%2e%2e", "/api/segment/get/a", "/api/snowflake/get/%00", "/tinyid/id/nextId?bizType=a&batchSize=9",
		"/leaf/x/api/snowflake/get/a", "/segments/shop/orders?step=10000", "/segments/distributor/shop/orders?offset=0&step=1", "/machines/shop", "/ids/as-string/x",
		"/tinyid/id/nextIdSimple?bizType=none", "/docs", "/openapi.json", "/", "//", "/v1/", "/v1//status", "/v1/sequences?page_size=1&page_size=2", "/v1/sequences?prefix[a]=b",
		"/v1/sequences/%e6", "/v1/sequences:last?sequence=%e6", "/v1/sequences?%e6=a", "/v1/sequences/a?expected_generation=%e6",
	} {
		f.Add("GET", path, "", "", "")
		f.Add("POST", path, `{"count":1}`, "Content-Type", "application/json")
		f.Add("PATCH", path, `{"name":"x","max":"9","rollback":"swap"}`, "Grpc-Timeout", "1S")
		f.Add("DELETE", path, "a=b&count=1", "Snowraft-Forwarded-By", "x")
	}
	r := newRig(f)
	f.Fuzz(func(t *testing.T, method, target, body, header, value string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" || u.Scheme != "" || strings.HasSuffix(u.Path, "/broken") {
			t.Skip()
		}
		req, err := http.NewRequest(method, "http://localhost", strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		req.URL, req.RequestURI = u, target
		req.Header.Set(header, value)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		leaf := strings.HasPrefix(u.Path, "/api/s") || strings.HasPrefix(u.Path, "/leaf/") // fails with status 500 like Leaf, with the reason in a header
		if w.Code == http.StatusInternalServerError && (!leaf || w.Header().Get("Snowraft-Reason") == "") {
			t.Fatalf("status %d, body %s", w.Code, w.Body)
		}
		switch kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";"); {
		case kind == "" && w.Code == http.StatusOK && w.Body.Len() == 0: // CosId's answer without a result
		case w.Code == http.StatusNotModified || w.Code == http.StatusRequestedRangeNotSatisfiable:
		case kind == "application/json" && w.Code != http.StatusPartialContent:
			if !json.Valid(w.Body.Bytes()) && method != http.MethodHead {
				t.Fatalf("%d: no JSON: %q", w.Code, w.Body)
			}
		case strings.HasPrefix(kind, "text/"), strings.HasPrefix(kind, "multipart/"), w.Code == http.StatusPartialContent:
			if !utf8.Valid(w.Body.Bytes()) && w.Code >= 400 {
				t.Fatalf("%d: no text: %q", w.Code, w.Body)
			}
		default:
			t.Fatalf("%d of type %q: %q", w.Code, kind, w.Body)
		}
	})
}
