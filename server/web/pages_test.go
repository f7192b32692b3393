package web_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/web"
	"github.com/snowraft/snowraft/trust"
)

func TestPages(t *testing.T) {
	r := newRig(t)
	for path, contentType := range map[string]string{
		"/docs": "text/html; charset=utf-8", "/docs/page.css": "text/css; charset=utf-8",
		"/docs/page.js": "text/javascript; charset=utf-8", "/openapi.json": "application/json",
	} {
		w := r.ask("GET", path, "")
		tag := w.Header().Get("ETag")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != contentType || w.Body.Len() < 100 || tag == "" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %s", path, csp)
		}
		if w := r.ask("GET", path, "", "If-None-Match: "+tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s again: %d", path, w.Code)
		}
		if w := r.ask("HEAD", path, ""); w.Code != http.StatusOK || w.Body.Len() > 0 {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
		if w := r.ask("POST", path, ""); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d", path, w.Code)
		}
	}
	if got := r.ask("GET", "/openapi.json", "").Body.String(); got != snowraftv1.OpenAPI {
		t.Error("/openapi.json differs from the embedded document")
	}
}

// Violations of the policy would only show in a browser.
func TestPagesKeepTheirPolicy(t *testing.T) {
	files, err := filepath.Glob("static/*")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v %v", files, err)
	}
	forbidden := regexp.MustCompile(`https?://|<script>|<style|\sstyle=|\son[a-z]+=|javascript:|innerHTML|eval\(|\burl\(|@import`)
	reference := regexp.MustCompile(`(?:src|href)="([^"#]*)"`)
	r := newRig(t)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.FindString(string(raw)); found != "" {
			t.Errorf("%s has %q", file, found)
		}
		for _, m := range reference.FindAllStringSubmatch(string(raw), -1) {
			if m[1] == "./" { // the console
				continue
			}
			// Relative to /docs, so that the page also works behind a proxy with a prefix.
			if w := r.ask("GET", "/"+m[1], ""); strings.HasPrefix(m[1], "/") || w.Code == http.StatusNotFound {
				t.Errorf("%s links to %s, which does not exist or leaves the prefix of a proxy", file, m[1])
			}
		}
	}
}

// openAPI is the part of the document that the test reads.
type openAPI struct {
	Info  struct{ Title, Version, Description string }
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Tags        []string
		Parameters  []struct {
			In     string
			Schema struct {
				Ref string `json:"$ref"`
			}
		}
	}
	Definitions map[string]struct{ Example json.RawMessage }
}

// TestOpenAPIIsServed sends every operation of the document with its example. The services must answer, and not the gateway.
func TestOpenAPIIsServed(t *testing.T) {
	var doc openAPI
	if err := json.Unmarshal([]byte(snowraftv1.OpenAPI), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Info.Title != "Snowraft" || doc.Info.Version == "version not set" || doc.Info.Description == "" {
		t.Errorf("%+v", doc.Info)
	}
	r := newRig(t)
	operations := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			operations++
			body := ""
			for _, p := range op.Parameters {
				if p.In == "body" {
					body = string(doc.Definitions[strings.TrimPrefix(p.Schema.Ref, "#/definitions/")].Example)
				}
			}
			target := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "17")
			w := r.ask(strings.ToUpper(method), target, body)
			// For services that the rig does not have, gRPC answers as for unimplemented methods.
			if w.Code != http.StatusOK && (w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), op.Tags[0])) &&
				!strings.Contains(w.Body.String(), "not implemented") {
				t.Errorf("%s: %s %s %s: %d %s", op.OperationID, method, target, body, w.Code, w.Body)
			}
		}
	}
	if operations < 25 {
		t.Errorf("%d operations", operations)
	}
}

// pagesForPeople is a Console.
type pagesForPeople struct{}

func (pagesForPeople) Has(path string) bool {
	return path == "/" || strings.HasPrefix(path, "/console/")
}

func (pagesForPeople) Serve(w http.ResponseWriter, r *http.Request) (string, error) {
	_, _ = w.Write([]byte("page"))
	return r.Method + " " + r.URL.Path, nil
}

// The console is behind the checks of all paths, and checks the rights of its viewers itself.
func TestConsoleIsGuarded(t *testing.T) {
	r := newRig(t, func(cfg *web.Config) {
		cfg.Console, cfg.Hosts = pagesForPeople{}, web.NewHosts("a.example")
		cfg.Authenticate = func(*http.Request, string) (*trust.Principal, error) {
			return nil, rpc.NewError(rpc.Unauthenticated, "no token")
		}
	})
	for _, path := range []string{"/", "/console/now", "/console/"} {
		want(t, r.ask("GET", path, ""), 200, "page")
	}
	if w := r.ask("POST", "/console/session", "token=x", "Sec-Fetch-Site: cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d %s", w.Code, w.Body)
	}
	if w := r.ask("GET", "http://evil.example/", "", "User-Agent: Mozilla/5.0"); w.Code != http.StatusForbidden {
		t.Errorf("another host name: %d %s", w.Code, w.Body)
	}
	if got := strings.Join(r.served[:2], ", "); got != "GET / OK, GET /console/now OK" {
		t.Errorf("served %s", got)
	}
}
