package web_test

import (
	"strings"
	"testing"
)

func TestServedReportsMethodAndError(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/id?count=2", "", "GET /id OK"},
		{"POST", "/id", "count=2", "POST /id OK"},
		{"GET", "/id?layout=none", "", "GET /id NotFound UNKNOWN_LAYOUT"},
		{"POST", "/seq/a/b", "", "POST /seq/{name} OK"},
		{"POST", "/seq/", "", "POST /seq/{name} InvalidArgument INVALID_ARGUMENT"},
		{"GET", "/seq/a", "", "other Unimplemented METHOD_NOT_ALLOWED"},
		{"HEAD", "/seq/a", "", "other Unimplemented METHOD_NOT_ALLOWED"},
		{"BREW", "/seq/a", "", "other Unimplemented METHOD_NOT_ALLOWED"},
		{"POST", "/seq/broken", "", "other Internal INTERNAL"},
		// These paths answer with the status 200 or 500, whatever the error.
		{"GET", "/api/segment/get/none", "", "GET /api/segment/get/{key} NotFound UNKNOWN_SEQUENCE"},
		{"GET", "/api/segment/get/", "", "GET /api/segment/get/{key} NotFound UNKNOWN_ENDPOINT"},
		{"PUT", "/api/segment/get/a", "", "other Unimplemented METHOD_NOT_ALLOWED"},
		{"GET", "/api/snowflake/get/x", "", "GET /api/snowflake/get/{key} OK"},
		{"GET", "/leaf/x/api/snowflake/get/a", "", "GET /leaf/{layout}/api/snowflake/get/{key} OK"},
		{"POST", "/leaf/x/api/segment/get/none", "", "POST /leaf/{layout}/api/segment/get/{key} NotFound UNKNOWN_SEQUENCE"},
		{"GET", "/leaf/x", "", "other NotFound UNKNOWN_ENDPOINT"},
		{"GET", "/tinyid/id/nextId?bizType=none", "", "GET /tinyid/id/nextId NotFound UNKNOWN_SEQUENCE"},
		{"GET", "/tinyid/id/nextId", "", "GET /tinyid/id/nextId InvalidArgument INVALID_ARGUMENT"},
		{"GET", "/tinyid/id/nextId?bizType=a&batchSize=x", "", "GET /tinyid/id/nextId InvalidArgument INVALID_ARGUMENT"},
		{"GET", "/tinyid/id/nextIdSimple", "", "GET /tinyid/id/nextIdSimple InvalidArgument INVALID_ARGUMENT"},
		{"PATCH", "/segments/shop/down?step=10", "", "PATCH /segments/{namespace}/{name} InvalidArgument INVALID_ARGUMENT"},
		{"POST", "/segments/distributor/shop/none?offset=0&step=10", "", "POST /segments/distributor/{namespace}/{name} NotFound UNKNOWN_SEQUENCE"},
		{"POST", "/segments/shop/orders", "", "other Unimplemented METHOD_NOT_ALLOWED"},
		{"PATCH", "/segments/a/b/c/d", "", "other NotFound UNKNOWN_ENDPOINT"},
		{"POST", "/machines/shop", "", "POST /machines/{namespace} InvalidArgument INVALID_ARGUMENT"},
		{"BREW", "/machines/shop", "", "other InvalidArgument INVALID_ARGUMENT"},
		{"GET", "/ids/x", "", "GET /ids/{name} OK"},
		{"GET", "/ids/as-string/none", "", "GET /ids/as-string/{name} NotFound UNKNOWN_LAYOUT"},
		{"GET", "/v1/sequences/a%2fb", "", "GET /v1/sequences/{name} OK"},
		{"GET", "/v1/sequences/a?x=1", "", "GET /v1/sequences/{name} InvalidArgument INVALID_ARGUMENT"},
		{"PATCH", "/v1/sequences/a", `{"name":"b"}`, "PATCH /v1/sequences/{sequence.name} InvalidArgument INVALID_ARGUMENT"},
		{"GET", "/v1/status", "", "GET /v1/status Unimplemented"},
		{"PUT", "/v1/sequences", "", "other Unimplemented METHOD_NOT_ALLOWED"},
		{"GET", "/v1/nothing", "", "other NotFound UNKNOWN_ENDPOINT"},
		{"GET", "/v1/sequences?prefix=%zz", "", "other InvalidArgument INVALID_ARGUMENT"},
		{"GET", "/docs", "", "GET /docs OK"},
		{"HEAD", "/docs", "", "HEAD /docs OK"},
		{"POST", "/docs", "", "other Unimplemented METHOD_NOT_ALLOWED"},
		{"GET", "/nothing", "", "other NotFound UNKNOWN_ENDPOINT"},
	} {
		r.served = nil
		r.ask(c.method, c.path, c.body)
		if got := strings.Join(r.served, ", "); got != c.want {
			t.Errorf("%s %s: served %q, want %q", c.method, c.path, got, c.want)
		}
	}
	r.served = nil
	r.ask("POST", "/id", "", "Sec-Fetch-Site: cross-site")
	if got := strings.Join(r.served, ", "); got != "other PermissionDenied BROWSER_REQUEST" {
		t.Errorf("a page of another site: served %q", got)
	}
}
