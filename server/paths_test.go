package server_test

import (
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// form is the form in which a path answers a caller without the right.
type form int

const (
	byStatus   form = iota // status 401 or 403
	tinyidJSON             // code 5
	tinyidText             // empty text
	refused                // status 400, whoever calls
)

// httpPath is a request for the resource "default", or for none.
type httpPath struct {
	pattern, method, target, body string
	right                         string // empty: public
	resource                      string // empty: "default"
	form                          form
	parameter                     bool // the token is a parameter
	once                          bool // the path ends the test if the caller is allowed
	all                           bool // the path requires the right for all resources
}

// shortPaths are the paths that the OpenAPI document omits.
var shortPaths = []httpPath{
	{pattern: "/id", method: "GET", target: "/id", right: trust.RightIssueIDs},
	{pattern: "/id", method: "POST", target: "/id?layout=default&count=2", right: trust.RightIssueIDs},
	{pattern: "/seq/{name}", method: "POST", target: "/seq/default", right: trust.RightNextNumbers},
	{pattern: "/api/segment/get/{key}", method: "GET", target: "/api/segment/get/default", right: trust.RightNextNumbers},
	{pattern: "/api/snowflake/get/{key}", method: "GET", target: "/api/snowflake/get/default", right: trust.RightIssueIDs},
	{pattern: "/leaf/{layout}/api/segment/get/{key}", method: "GET", target: "/leaf/any/api/segment/get/default", right: trust.RightNextNumbers},
	{pattern: "/leaf/{layout}/api/snowflake/get/{key}", method: "GET", target: "/leaf/default/api/snowflake/get/any", right: trust.RightIssueIDs},
	{pattern: "/tinyid/id/nextId", method: "GET", target: "/tinyid/id/nextId?bizType=default", right: trust.RightNextNumbers, form: tinyidJSON},
	{pattern: "/tinyid/id/nextId", method: "POST", target: "/tinyid/id/nextId?bizType=default", right: trust.RightNextNumbers, form: tinyidJSON, parameter: true},
	{pattern: "/tinyid/id/nextId", method: "GET", target: "/tinyid/id/nextId?bizType=default&batchSize=0", right: trust.RightNextNumbers, form: tinyidJSON},
	{pattern: "/tinyid/id/nextIdSimple", method: "GET", target: "/tinyid/id/nextIdSimple?bizType=default", right: trust.RightNextNumbers, form: tinyidText},
	{pattern: "/tinyid/id/nextIdSimple", method: "GET", target: "/tinyid/id/nextIdSimple?bizType=default", right: trust.RightNextNumbers, form: tinyidText, parameter: true},
	{pattern: "/tinyid/id/nextSegmentId", method: "GET", target: "/tinyid/id/nextSegmentId?bizType=default", right: trust.RightNextNumbers, form: tinyidJSON},
	{pattern: "/tinyid/id/nextSegmentIdSimple", method: "GET", target: "/tinyid/id/nextSegmentIdSimple?bizType=default", right: trust.RightNextNumbers, form: tinyidText, parameter: true},
	{pattern: "/segments/distributor/{namespace}/{name}", method: "POST", target: "/segments/distributor/shop/orders?offset=0&step=10", right: trust.RightNextNumbers, resource: "shop.orders"},
	{pattern: "/segments/{namespace}/{name}", method: "PATCH", target: "/segments/shop/orders?step=10", right: trust.RightNextNumbers, resource: "shop.orders"},
	{pattern: "/machines/{namespace}", method: "POST", target: "/machines/shop?machineBit=10&instanceId=a&stable=false&safeGuardDuration=PT5M", form: refused},
	{pattern: "/ids/{name}", method: "GET", target: "/ids/default", right: trust.RightIssueIDs},
	{pattern: "/ids/as-string/{name}", method: "GET", target: "/ids/as-string/default", right: trust.RightIssueIDs},
	{pattern: "/metrics", method: "GET", target: "/metrics", right: trust.RightReadMetrics},
	{pattern: "/healthz", method: "GET", target: "/healthz"},
	{pattern: "/readyz", method: "GET", target: "/readyz"},
	{pattern: "/", method: "GET", target: "/"},
	{pattern: "/console", method: "GET", target: "/console"},
	{pattern: "/console/runbook", method: "GET", target: "/console/runbook"},
	{pattern: "/docs", method: "GET", target: "/docs"},
	{pattern: "/docs/page.css", method: "GET", target: "/docs/page.css"},
	{pattern: "/docs/page.js", method: "GET", target: "/docs/page.js"},
	{pattern: "/v1/ca", method: "GET", target: "/v1/ca"},
	{pattern: "/openapi.json", method: "GET", target: "/openapi.json"},
}

// operations returns the paths of the OpenAPI document.
func operations(t *testing.T) (all []httpPath) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			Name  string `json:"operationId"`
			Right string `json:"x-right"`
		}
	}
	if err := json.Unmarshal([]byte(snowraftv1.OpenAPI), &document); err != nil {
		t.Fatal(err)
	}
	for pattern, methods := range document.Paths {
		target := regexp.MustCompile(`\{[^}]*(id|job)\}`).ReplaceAllString(pattern, "1")
		target = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(target, "default")
		for method, operation := range methods {
			p := httpPath{pattern: pattern, method: strings.ToUpper(method), target: target, body: "{}", right: operation.Right}
			rule := rpc.RuleOf("/snowraft.v1." + strings.ReplaceAll(operation.Name, "_", "/"))
			if rule == nil || rule.GetRight() != operation.Right {
				t.Fatalf("%s: operation %s and its rule differ", pattern, operation.Name)
			}
			if _, field, _ := strings.Cut("."+rule.GetResource(), "."); field != "" && target == pattern && trust.TakesResource(p.right) {
				field = field[strings.LastIndex(field, ".")+1:]
				if p.method == http.MethodGet {
					p.target += "?" + field + "=default"
				} else {
					p.body = `{"` + field + `":"default"}`
				}
			}
			p.all = rule.GetResource() == "" && trust.TakesResource(p.right)
			p.once = slices.Contains([]string{"ClusterService_Leave", "ClusterService_ResetObservedClock", "OperationsService_SealCluster", "SequenceService_DeleteSequence", "SequenceService_MoveSequence"}, operation.Name)
			all = append(all, p)
		}
	}
	if len(all) < 30 {
		t.Fatalf("%d operations", len(all))
	}
	return all
}

// wants returns the expected reason of a refusal; empty if the caller has the right.
func (p httpPath) wants(c caller) string {
	switch {
	case p.right == "", p.right == trust.RightReadMetrics && c.text == "": // which the record "anonymous" has
		return ""
	case p.all:
		return c.wants(p.right, "*")
	case trust.TakesResource(p.right):
		return c.wants(p.right, cmp.Or(p.resource, "default"))
	}
	return c.wants(p.right, "")
}

// judge makes a request and checks whether it is rejected as expected.
func (p httpPath) judge(t *testing.T, address string, c caller) {
	t.Helper()
	target := "http://" + address + p.target
	if p.parameter && c.text != "" {
		target += "&token=" + c.text
	}
	req, err := http.NewRequestWithContext(t.Context(), p.method, target, strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.text != "" && !p.parameter {
		req.Header.Set("Authorization", "Bearer "+c.text)
	}
	resp, err := browser(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	switch {
	case p.form == refused && resp.StatusCode == http.StatusBadRequest:
	case resp.StatusCode == http.StatusUnauthorized:
		got = rpc.Unauthenticated
	case resp.StatusCode == http.StatusForbidden:
		got = rpc.PermissionDenied
	case p.form == tinyidJSON && strings.Contains(string(body), `"code":5`), p.form == tinyidText && len(body) == 0:
		got = resp.Header.Get("Snowraft-Reason")
		if got == "" {
			got = "none"
		}
	case p.form != byStatus && resp.StatusCode != http.StatusOK, resp.StatusCode == http.StatusMethodNotAllowed,
		!strings.HasPrefix(p.pattern, "/v1/") && resp.StatusCode != http.StatusOK:
		got = resp.Status
	}
	if want := p.wants(c); got != want {
		t.Errorf("%s %s by %s: %s %.200s, want %q", p.method, p.target, c.name, resp.Status, body, want)
	}
	if c.text != "" && strings.Contains(string(body), c.text) {
		t.Errorf("%s %s by %s repeats the token", p.method, p.target, c.name)
	}
}

// The test calls every path with every kind of caller.
func TestEveryPathJudgesEveryCaller(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		for _, name := range []string{"default", "shop.orders"} {
			_, err := snowraftv1.NewSequenceServiceClient(s.admin(n)).CreateSequence(t.Context(),
				&snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED}})
			if err != nil {
				t.Fatal(err)
			}
		}
		callers := s.callers("default", "other", "*")
		for _, p := range append(operations(t), shortPaths...) {
			for _, c := range callers {
				if !p.once || p.wants(c) != "" {
					p.judge(t, n.server.HTTPAddr(), c)
				}
			}
		}
	})
}

// The table above has each path outside of /v1 that the program serves.
func TestPathsAreComplete(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		files, err := filepath.Glob("web/*.go")
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range append(files, "frontend/http.go") {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				path, _ := strconv.Unquote(literal.Value)
				if method, rest, ok := strings.Cut(path, " "); ok && method == strings.ToUpper(method) {
					path = rest
				}
				if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/v1/") {
					return true
				}
				found++
				if !slices.ContainsFunc(shortPaths, func(p httpPath) bool { return p.pattern == path }) {
					t.Errorf("%s has %q: add it to shortPaths", name, path)
				}
				return true
			})
		}
		if found < len(shortPaths)/2 {
			t.Errorf("%d paths found", found)
		}
	})
}
