package console_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server/console"
)

// visitor follows all links and forms behind a proxy that adds a prefix to the paths.
type visitor struct {
	t      *testing.T
	client http.Client
	seen   []string
}

var (
	linkPattern = regexp.MustCompile(`\b(href|src|action|data-again)="([^"]*)"`)
	formPattern = regexp.MustCompile(`(?s)<form[^>]* method="post" action="([^"]*)"(.*?)</form>`)
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

const prefix = "/ids"

// get visits a page once, with what it leads to.
func (v *visitor) get(target *url.URL) {
	v.t.Helper()
	target.Fragment = ""
	if slices.Contains(v.seen, target.String()) {
		return
	}
	v.seen = append(v.seen, target.String())
	resp, err := v.client.Get(target.String())
	if err != nil {
		v.t.Fatal(err)
	}
	v.read(resp)
}

// post sends a form.
func (v *visitor) post(target *url.URL, fields url.Values) {
	v.t.Helper()
	resp, err := v.client.PostForm(target.String(), fields)
	if err != nil {
		v.t.Fatal(err)
	}
	v.read(resp)
}

// read checks an answer, and visits the links of a page.
func (v *visitor) read(resp *http.Response) {
	v.t.Helper()
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		v.t.Errorf("%s: %s", resp.Request.URL, resp.Status)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return
	}
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	v.follow(resp.Request.URL, string(page))
}

// resolve returns the target of a link; nil outside the cluster.
func (v *visitor) resolve(page *url.URL, link string) *url.URL {
	v.t.Helper()
	target, err := page.Parse(html.UnescapeString(link))
	switch {
	case err != nil:
		v.t.Fatal(err)
	case target.Scheme == "https":
		return nil // the runbook links to other pages of the documentation
	case target.Host != page.Host || !strings.HasPrefix(target.Path, prefix+"/"):
		v.t.Errorf("%s links to %s, which leaves the prefix", page, link)
		return nil
	}
	return target
}

func (v *visitor) follow(page *url.URL, text string) {
	v.t.Helper()
	for _, m := range linkPattern.FindAllStringSubmatch(text, -1) {
		target := v.resolve(page, m[2])
		if target != nil && !strings.HasSuffix(target.Path, "/session") {
			v.get(target)
		}
	}
	for _, m := range formPattern.FindAllStringSubmatch(text, -1) {
		target, fields := v.resolve(page, m[1]), url.Values{}
		for _, field := range hiddenField.FindAllStringSubmatch(m[2], -1) {
			fields.Set(field[1], field[2])
		}
		if form := target.String() + fields.Encode(); !slices.Contains(v.seen, form) {
			v.seen = append(v.seen, form)
			fields.Set("token", "wrong") // a form for signing in comes back, at another path
			v.post(target, fields)
		}
	}
}

// behindPrefix returns a visitor of a console whose paths outside the console exist, too.
func behindPrefix(r *rig) (v *visitor, first *url.URL) {
	others := []string{"/docs", "/openapi.json", "/v1/status", "/metrics", "/healthz", "/readyz"}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case r.console.Has(req.URL.Path):
			_, _ = r.console.Serve(w, req)
		case !slices.Contains(others, req.URL.Path):
			http.NotFound(w, req)
		}
	}))
	r.t.Cleanup(backend.Close)
	to, err := url.Parse(backend.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix(prefix, httputil.NewSingleHostReverseProxy(to)))
	r.t.Cleanup(proxy.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	first, err = url.Parse(proxy.URL + prefix + "/")
	if err != nil {
		r.t.Fatal(err)
	}
	return &visitor{t: r.t, client: http.Client{Jar: jar}}, first
}

// A proxy may add a prefix to all paths, so no link may leave it.
func TestPagesWorkBehindAPrefix(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"member", "gateway"} {
		r := newRig(t, func(cfg *console.Config) { cfg.What = what })
		v, first := behindPrefix(r)
		v.get(first)
		v.get(first.JoinPath("console"))
		for _, want := range []string{"/ids/console/windows", "/ids/console/sequences?after=a~b%26c", "/ids/console/events?after=1~2~3", "/ids/docs"} {
			if !slices.Contains(v.seen, "http://"+first.Host+want) {
				t.Errorf("%s: no page links to %s: %q", what, want, v.seen)
			}
		}
	}
}

func TestSigningInWorksBehindAPrefix(t *testing.T) {
	t.Parallel()
	r, _, reader, _ := secured(t)
	v, first := behindPrefix(r)
	v.get(first)
	for _, to := range []string{"/", "/console/id", "/console/events"} {
		v.seen = nil
		v.post(first.JoinPath("console", "session"), url.Values{"token": {reader}, "to": {to}})
		signedIn := "http://" + first.Host + "/ids/console/session" + url.Values{"out": {"1"}, "to": {to}}.Encode()
		if !slices.Contains(v.seen, signedIn) {
			t.Errorf("%s has no button to sign out: %q", to, v.seen)
		}
	}
}
