package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestNamesInPaths(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{
		"orders", "order:cn", "a/b", "x.y", "a/b/c.d:e", "a:next", "a:last", ":last", ":", "a/:last", "/", "a//b", "/a", "a/",
		".", "..", "../x", "a/../b", "next", "100%", "%41", "a%2Fb", "a%3Anext", "a+b", "a?b=c", "a#b", "ä/ß", "订单:号", "a;b", "a&b", `a\b`, "{name}",
	} {
		for _, path := range []string{
			"/v1/sequences/" + url.PathEscape(name), // the name alone
			"/v1/sequences/" + strings.ToLower(strings.ReplaceAll(url.PathEscape(name), "%2F", "/")) + "\x00",
			"/v1/sequences/" + strings.NewReplacer("%2F", "/", "%3A", ":").Replace(url.PathEscape(name)),
			"/v1/sequences/" + strings.ReplaceAll(url.PathEscape(name), ":", "%3A"),
		} {
			path, lower := strings.CutSuffix(path, "\x00")
			if lower && strings.ToLower(name) != name {
				continue
			}
			for _, method := range []string{"GET", "DELETE", "PATCH"} {
				r.service.request = nil
				w := r.ask(method, path, "")
				got, _ := r.service.request.(interface{ GetName() string })
				if u, ok := r.service.request.(*snowraftv1.UpdateSequenceRequest); ok {
					got = u.GetSequence()
				}
				if w.Code != http.StatusOK || got == nil || got.GetName() != name {
					t.Errorf("%s %s: %d %s, want the name %q", method, path, w.Code, w.Body, name)
				}
			}
		}
	}
	for path, want := range map[string]string{"/v1/members/a%2Fb": "a/b", "/v1/members/a%3Aleave": "a:leave", "/v1/members/100%25": "100%"} {
		r.ask("DELETE", path, "")
		if got := r.service.request.(*snowraftv1.RemoveMemberRequest).GetMember(); got != want {
			t.Errorf("%s: the member is %q", path, got)
		}
	}
}

func TestCustomMethods(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/v1/sequences:next", "/v1/sequences%3Anext"} {
		want(t, r.ask("POST", path, `{"sequence":"a/b:next","count":2}`), http.StatusOK,
			`{"sequence":"","first":"1152921504606846976","count":2,"increment":"1","period":"","texts":[],"format":"","timeZone":"","issuedAtMs":"0","mode":"unspecified","yearStarts":""}`+"\n")
		if got := r.service.request.(*snowraftv1.NextNumbersRequest); got.GetSequence() != "a/b:next" || got.GetCount() != 2 {
			t.Errorf("request of the service = %v", got)
		}
	}
	want(t, r.ask("GET", "/v1/sequences:last?sequence=a%2Fb:c", ""), http.StatusOK, "{}\n")
	if got := r.service.request.(*snowraftv1.GetLastRequest).GetSequence(); got != "a/b:c" {
		t.Errorf("request of the service = %q", got)
	}
	want(t, r.ask("GET", "/v1/sequences?pageSize=7&prefix=a", ""), http.StatusOK, `{"sequences":[],"nextPageToken":"list"}`+"\n")
	if got := r.service.request.(*snowraftv1.ListSequencesRequest); got.GetPageSize() != 7 || got.GetPrefix() != "a" {
		t.Errorf("request of the service = %v", got)
	}
	r.ask("POST", "/v1/sequences?force=true", `{"name":"a/b","max":"9"}`)
	if got := r.service.request.(*snowraftv1.CreateSequenceRequest); !got.GetForce() || got.GetSequence().GetName() != "a/b" || got.GetSequence().GetMax() != 9 {
		t.Errorf("request of the service = %v", got)
	}
	r.ask("PATCH", "/v1/sequences/a?force=true", `{"max":"9","time_zone":"UTC"}`)
	if got := r.service.request.(*snowraftv1.UpdateSequenceRequest); !got.GetForce() || got.GetSequence().GetMax() != 9 ||
		!slices.Equal(got.GetUpdateMask().GetPaths(), []string{"max", "time_zone"}) {
		t.Errorf("request of the service = %v", got)
	}
	want(t, r.ask("PATCH", "/v1/sequences/a", `{"mode":"strict","reset":"daily"}`), http.StatusOK,
		`{"sequence":{"name":"a","mode":"strict","blockDurationMs":"0","minBlock":"0","maxBlock":"0","reset":"daily","timeZone":"","format":"","description":"",`+
			`"createdAtMs":"0","generation":"0","period":"","remaining":"0","frozen":false,"deleted":false,"yearStarts":"","template":"","lateMs":"0","endedPeriods":[],`+
			`"reuse":false,"openReservations":"0","unknownNumbers":"0","oldestOpenAtMs":"0","formatsUnknown":false,"moved":false},"unreachedMembers":[]}`+"\n")
	if got := r.service.request.(*snowraftv1.UpdateSequenceRequest); got.GetSequence().GetReset_() != snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY ||
		!slices.Equal(got.GetUpdateMask().GetPaths(), []string{"mode", "reset"}) {
		t.Errorf("request of the service = %v", got)
	}
	for _, body := range []string{`{"name":"a/b","max":"9"}`, `{"name":null,"max":"9"}`, `{"max":9}`} {
		r.service.request = nil
		if w := r.ask("PATCH", "/v1/sequences/a%2Fb", body); w.Code != http.StatusOK || r.service.request.(*snowraftv1.UpdateSequenceRequest).GetSequence().GetMax() != 9 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	// curl -d sends the content type of a form. The gateway reads the body as JSON.
	if w := r.ask("POST", "/v1/ids:generate", `{"count":3}`, "Content-Type: application/x-www-form-urlencoded"); w.Code != http.StatusOK {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
}

// JSON lists each ID by default: the programs of a browser or of Node cannot add to a number as large as an ID.
func TestJSONListsIDs(t *testing.T) {
	r := newRig(t)
	for body, want := range map[string]bool{`{"count":3}`: true, "": true, `{"packed":null}`: true, `{"packed":true}`: true, `{"packed":false}`: false} {
		w := r.ask("POST", "/v1/ids:generate", body)
		if got := r.service.request.(*snowraftv1.GenerateIdsRequest).GetPacked(); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d, packed %v, want %v", body, w.Code, got, want)
		}
	}
}

// answer is a google.rpc.Status in JSON.
type answer struct {
	Code    codes.Code
	Message string
	Details []struct {
		Type       string `json:"@type"`
		Reason     string
		Domain     string
		RetryDelay string
		Metadata   map[string]string
	}
}

func parseStatus(t testing.TB, body string) answer {
	t.Helper()
	var s answer
	if err := json.Unmarshal([]byte(body), &s); err != nil || s.Message == "" || s.Code == 0 || !strings.HasSuffix(body, "}\n") {
		t.Fatalf("%q is not a status: %v", body, err)
	}
	return s
}

func TestRefusals(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     codes.Code
		reason, message          string
	}{
		{"no path", "GET", "/v1/nothing", "", 404, codes.NotFound, rpc.UnknownEndpoint, "/v1/nothing"},
		{"no path at all", "GET", "/nothing", "", 404, codes.NotFound, rpc.UnknownEndpoint, "/nothing"},
		{"trailing slash", "GET", "/v1/status/", "", 404, codes.NotFound, rpc.UnknownEndpoint, ""},
		{"method", "PUT", "/v1/sequences", "", 405, codes.Unimplemented, rpc.MethodNotAllowed, "GET, POST"},
		{"HEAD", "HEAD", "/v1/status", "", 405, codes.Unimplemented, rpc.MethodNotAllowed, "GET"},
		{"no JSON", "POST", "/v1/ids:generate", "{", 400, codes.InvalidArgument, rpc.InvalidArgument, "unexpected end"},
		{"two values", "POST", "/v1/ids:generate", `{"count":1} {"count":2}`, 400, codes.InvalidArgument, rpc.InvalidArgument, "after top-level value"},
		{"wrong type", "POST", "/v1/ids:generate", `{"count":"x"}`, 400, codes.InvalidArgument, rpc.InvalidArgument, "count"},
		{"negative", "POST", "/v1/ids:generate", `{"count":-1}`, 400, codes.InvalidArgument, rpc.InvalidArgument, "-1"},
		{"list", "POST", "/v1/ids:generate", `[]`, 400, codes.InvalidArgument, rpc.InvalidArgument, ""},
		{"unknown field", "POST", "/v1/ids:generate", `{"coutn":5}`, 400, codes.InvalidArgument, rpc.InvalidArgument, `unknown field "coutn"`},
		{"unknown word", "PATCH", "/v1/sequences/a", `{"mode":"fast"}`, 400, codes.InvalidArgument, rpc.InvalidArgument, `mode "fast": expected one of relaxed, strict`},
		{"null for a resource", "PATCH", "/v1/sequences/a", `null`, 400, codes.InvalidArgument, rpc.InvalidArgument, "unexpected token"},
		{"resource within a resource", "POST", "/v1/sequences", `{"sequence":{"name":"a"}}`, 400, codes.InvalidArgument, rpc.InvalidArgument, `unknown field "sequence"`},
		{"layout within a layout", "POST", "/v1/layouts", `{"layout":{"name":"a"}}`, 400, codes.InvalidArgument, rpc.InvalidArgument, `unknown field "layout"`},
		{"parameter of the resource", "POST", "/v1/sequences", `{"name":"a","force":true}`, 400, codes.InvalidArgument, rpc.InvalidArgument, `unknown field "force"`},
		{"unknown field of PATCH", "PATCH", "/v1/sequences/a", `{"maxx":5}`, 400, codes.InvalidArgument, rpc.InvalidArgument, "maxx"},
		{"another name in the body", "PATCH", "/v1/sequences/a", `{"max":"5","name":"b"}`, 400, codes.InvalidArgument, rpc.InvalidArgument, `the name "b" and the path "a"`},
		{"no name in the body", "PATCH", "/v1/sequences/a", `{"name":""}`, 400, codes.InvalidArgument, rpc.InvalidArgument, `the name ""`},
		{"two names in the body", "PATCH", "/v1/sequences/a", `{"name":"b","name":"a"}`, 400, codes.InvalidArgument, rpc.InvalidArgument, "name"},
		{"a number for a name", "PATCH", "/v1/sequences/a", `{"name":5}`, 400, codes.InvalidArgument, rpc.InvalidArgument, "name"},
		{"unknown parameter", "GET", "/v1/sequences?prefx=a", "", 400, codes.InvalidArgument, rpc.InvalidArgument, "prefx"},
		{"unknown parameter, no other", "GET", "/v1/sequences/a?x=1", "", 400, codes.InvalidArgument, rpc.InvalidArgument, "unknown query parameter x"},
		{"a parameter by both its names", "GET", "/v1/sequences?page_size=1&pageSize=2", "", 400, codes.InvalidArgument, rpc.InvalidArgument, "pageSize and page_size name the same field"},
		{"parameter of the body", "POST", "/v1/ids:generate?count=5", "", 400, codes.InvalidArgument, rpc.InvalidArgument, "body"},
		{"parameter of the path", "GET", "/v1/sequences/a?name=b", "", 400, codes.InvalidArgument, rpc.InvalidArgument, "elsewhere"},
		{"parameter of the body's field", "PATCH", "/v1/sequences/a?sequence.max=5", "", 400, codes.InvalidArgument, rpc.InvalidArgument, "elsewhere"},
		{"parameter of no number", "GET", "/v1/sequences?pageSize=x", "", 400, codes.InvalidArgument, rpc.InvalidArgument, `pageSize "x": expected a whole number`},
		{"parameter beyond its range", "GET", "/v1/sequences?page_size=99999999999", "", 400, codes.InvalidArgument, rpc.InvalidArgument, `pageSize "99999999999": number out of range`},
		{"parameter that is not a boolean", "GET", "/v1/sequences/a?local=maybe", "", 400, codes.InvalidArgument, rpc.InvalidArgument, `local "maybe": expected true or false`},
		{"a parameter twice", "GET", "/v1/sequences?pageSize=1&pageSize=2", "", 400, codes.InvalidArgument, rpc.InvalidArgument, "query parameter pageSize: expected one value"},
		{"broken query", "GET", "/v1/sequences?prefix=%zz", "", 400, codes.InvalidArgument, rpc.InvalidArgument, ""},
		{"no ID", "GET", "/v1/ids/x", "", 400, codes.InvalidArgument, rpc.InvalidArgument, `id "x": expected a whole number`},
		{"an ID beyond 64 bits", "GET", "/v1/ids/99999999999999999999", "", 400, codes.InvalidArgument, rpc.InvalidArgument, `id "99999999999999999999": number out of range`},
		{"body too long", "POST", "/v1/ids:generate", `{"layout":"` + strings.Repeat("x", 64<<10) + `"}`, 413, codes.InvalidArgument, rpc.InvalidArgument, "65536"},
		{"method override", "POST", "/v1/sequences/a", "", 405, codes.Unimplemented, rpc.MethodNotAllowed, "GET, PATCH, DELETE"},
		{"not implemented", "GET", "/v1/status", "", 501, codes.Unimplemented, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := r.ask(c.method, c.path, c.body, "X-Http-Method-Override: DELETE", "Content-Type: application/x-www-form-urlencoded")
			s := parseStatus(t, w.Body.String())
			reason := ""
			if len(s.Details) > 0 {
				reason = s.Details[0].Reason
			}
			if w.Code != c.status || s.Code != c.code || reason != c.reason || !strings.Contains(s.Message, c.message) {
				t.Errorf("status %d, body %s", w.Code, w.Body)
			}
			if strings.Contains(s.Message, "strconv") {
				t.Errorf("message %q names a Go function", s.Message)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type: %s", got)
			}
			if (w.Code == http.StatusMethodNotAllowed) != (w.Header().Get("Allow") != "") {
				t.Errorf("%d with Allow: %q", w.Code, w.Header().Get("Allow"))
			}
		})
	}
}

func TestErrorsOfCalls(t *testing.T) {
	r := newRig(t)
	r.service.err = &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader is known", RetryAfter: 1500 * time.Millisecond,
		Metadata: map[string]string{"layout": "l"}}
	w := r.ask("GET", "/v1/sequences/a", "")
	want(t, w, http.StatusServiceUnavailable, `{"code":14,"message":"no leader is known","details":[`+
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"NO_LEADER","domain":"snowraft","metadata":{"layout":"l"}},`+
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"}]}`+"\n")
	if got := w.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After: %s", got)
	}
	r.service.err = status.Error(codes.InvalidArgument, "proto:\u00a0(line 1:2): no")
	want(t, r.ask("GET", "/v1/sequences/a", ""), http.StatusBadRequest, `{"code":3,"message":"(line 1:2): no","details":[`+
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_ARGUMENT","domain":"snowraft","metadata":{}}]}`+"\n")
}

func TestHeadersDoNotBecomeMetadata(t *testing.T) {
	r := newRig(t)
	var headers []string
	for _, name := range []string{rpc.ForwardedBy, rpc.ForwardedInto, "Authorization", "Cookie", "X-Forwarded-For", "X-Forwarded-Host", "X-Anything", "User-Agent", "Te", "Grpc-Status", "Origin-Agent"} {
		headers = append(headers, name+": forged", "Grpc-Metadata-"+name+": forged", "Grpcgateway-"+name+": forged", "Grpc-Metadata-"+name+"-Bin: Zm9yZ2Vk")
	}
	if w := r.ask("GET", "/v1/sequences/a", "", headers...); w.Code != http.StatusOK {
		t.Fatalf("status %d, body %s", w.Code, w.Body)
	} else if len(w.Header().Values("Grpc-Metadata-Content-Type")) > 0 {
		t.Errorf("the call's metadata is in the answer: %v", w.Header())
	}
	for name, values := range r.service.metadata {
		for _, v := range values {
			if strings.Contains(v, "forged") {
				t.Errorf("%s: %s reached the service", name, v)
			}
		}
		switch name {
		case ":authority", "content-type", "user-agent": // every gRPC client sends these headers
		default:
			t.Errorf("%s: %v reached the service", name, values)
		}
	}
}

func TestDeadlines(t *testing.T) {
	r := newRig(t)
	for header, most := range map[string]time.Duration{"": 10 * time.Second, "2S": 2 * time.Second, "5000m": 5 * time.Second, "99999999H": 25 * time.Second} {
		w := r.ask("GET", "/v1/sequences/a", "", "Grpc-Timeout: "+header)
		if left := r.service.left; w.Code != http.StatusOK || left > most || left < most-most/2 {
			t.Errorf("%q: %d, %v left", header, w.Code, left)
		}
	}
	if w := r.ask("GET", "/v1/sequences/a", "", "Grpc-Timeout: soon"); w.Code != http.StatusBadRequest {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	r := newRig(t)
	// Requests of the rig have the host name example.com.
	foreign := [][]string{
		{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}, {"Sec-Fetch-Site: same-site", "Origin: http://example.com:3000"},
		{"Origin: https://evil.example"}, {"Origin: http://example.com:3000"}, {"Origin: null"},
	}
	for _, path := range []string{"/v1/ids:generate", "/seq/a", "/tinyid/id/nextId?bizType=a", "/segments/distributor/shop/orders?offset=0&step=1"} {
		for _, headers := range foreign {
			if w := r.ask("POST", path, "", headers...); !forbidden(path, w) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	for _, path := range []string{"/id", "/seq/a", "/api/segment/get/a", "/api/snowflake/get/x", "/leaf/x/api/snowflake/get/a", "/ids/x", "/ids/as-string/x", "/tinyid/id/nextId?bizType=a", "/tinyid/id/nextIdSimple?bizType=a"} {
		for _, headers := range foreign {
			if w := r.ask("GET", path, "", headers...); !forbidden(path, w) {
				t.Errorf("GET %s, %v: %d %s", path, headers, w.Code, w.Body)
			}
		}
	}
	if r.backend.taken != 0 || r.service.request != nil {
		t.Error("a page of another site took a number")
	}
	for _, headers := range [][]string{
		{}, {"Sec-Fetch-Site: same-origin"}, {"Sec-Fetch-Site: none"}, {"Origin: http://example.com"},
		{"Sec-Fetch-Site: same-origin", "Origin: https://ids.example"}, // through a proxy that has another name
	} {
		for _, method := range []string{"GET", "POST"} {
			if w := r.ask(method, "/id", "", headers...); w.Code != http.StatusOK {
				t.Errorf("%s, %v: %d %s", method, headers, w.Code, w.Body)
			}
		}
	}
	if w := r.ask("GET", "/v1/sequences/a", "", "Sec-Fetch-Site: cross-site"); w.Code != http.StatusOK {
		t.Errorf("request that takes no numbers: %d %s", w.Code, w.Body)
	}
}

// TestParametersHaveNoEnums checks that no request has an enum outside its body: there the gateway would expect the name of the
// enum value, and not its word.
func TestParametersHaveNoEnums(t *testing.T) {
	protoregistry.GlobalFiles.RangeFilesByPackage(apijson.Package, func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				m := methods.Get(j)
				rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
				for k := range m.Input().Fields().Len() {
					if field := m.Input().Fields().Get(k); field.Enum() != nil && rule.GetBody() != "*" {
						t.Errorf("%s: %s is an enum outside the body", m.FullName(), field.Name())
					}
				}
			}
		}
		return true
	})
}

func TestAnswersAreStable(t *testing.T) {
	r := newRig(t)
	first := r.ask("POST", "/v1/sequences:next", `{"count":1}`).Body.String()
	for range 20 {
		want(t, r.ask("POST", "/v1/sequences:next", `{"count":1}`), http.StatusOK, first)
	}
}
