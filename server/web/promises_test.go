package web_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

// Paths outside of /v1 keep their methods (docs/compatibility.md). TestText, TestLeaf, TestTinyid and TestCosIDSegments check their parameters. The
// console has its own test of its paths.
func TestPathsKeepTheirMethods(t *testing.T) {
	r := newRig(t)
	for path, want := range map[string]string{
		"/segments/distributor/shop/orders?offset=0&step=1": "POST",
		"/segments/shop/orders?step=10000":                  "PATCH",
		"/ids/x":                                            "GET",
		"/ids/as-string/x":                                  "GET",
		"/id":                                               "GET POST",
		"/seq/orders":                                       "POST",
		"/api/segment/get/orders":                           "GET POST",
		"/api/snowflake/get/x":                              "GET POST",
		"/leaf/x/api/segment/get/orders":                    "GET POST",
		"/leaf/x/api/snowflake/get/any":                     "GET POST",
		"/tinyid/id/nextId?bizType=a":                       "GET POST",
		"/tinyid/id/nextIdSimple?bizType=a":                 "GET POST",
		"/tinyid/id/nextSegmentId?bizType=orders":           "GET POST",
		"/tinyid/id/nextSegmentIdSimple?bizType=orders":     "GET POST",
		"/docs":         "GET HEAD",
		"/openapi.json": "GET HEAD",
	} {
		var got []string
		for _, method := range []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"} {
			switch w := r.ask(method, path, ""); w.Code {
			case 200:
				got = append(got, method)
			case 405:
				if allow := strings.ReplaceAll(w.Header().Get("Allow"), ",", ""); allow != want {
					t.Errorf("%s %s: Allow: %q, want %q", method, path, allow, want)
				}
			default:
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s takes %s, want %s", path, got, want)
		}
	}
}

// Errors have the statuses of docs/http.md, at /v1 and in plain text.
func TestStatusesAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	statuses := make(map[codes.Code]int)
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9]{3}) \| ([^|]+) \| .+ \|$`).FindAllStringSubmatch(string(page), -1) {
		status, _ := strconv.Atoi(row[1])
		for _, code := range regexp.MustCompile("([0-9]+) `([A-Z_]+)`").FindAllStringSubmatch(row[2], -1) {
			var c codes.Code
			if err := json.Unmarshal([]byte(strconv.Quote(code[2])), &c); err != nil || strconv.Itoa(int(c)) != code[1] {
				t.Errorf("%s: code %v, %v", code[0], c, err)
			}
			if status != 405 && status != 413 { // these statuses are more specific than the code of the error
				statuses[c] = status
			}
		}
	}
	r := newRig(t)
	for _, reason := range rpc.Reasons() {
		refusal := rpc.NewError(reason.Name, "no")
		r.service.err, r.backend.err = refusal, refusal
		call, text := r.ask("GET", "/v1/sequences/a", ""), r.ask("POST", "/seq/a", "")
		want := statuses[reason.Code]
		if call.Code != want || text.Code != want {
			t.Errorf("%s: status %d at /v1 and %d in plain text, want %d", reason.Name, call.Code, text.Code, want)
		}
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		r.service.err = &rpc.Error{Code: code, Reason: "R", Message: "m"}
		w := r.ask("GET", "/v1/sequences/a", "")
		if statuses[code] != 0 && w.Code != statuses[code] || w.Header().Get("Retry-After") != "" {
			t.Errorf("%v: status %d, want %d; %v", code, w.Code, statuses[code], w.Header())
		}
	}
}
