package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

//go:embed static
var static embed.FS

// policy is the Content-Security-Policy of pages. It lets a page use this port and no other address.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page is a document that is the same for all callers.
type page struct {
	content     string
	contentType string
	etag        string
}

func newPages() (map[string]*page, error) {
	pages := make(map[string]*page)
	add := func(path, contentType, content string) {
		sum := sha256.Sum256([]byte(content))
		pages[path] = &page{content, contentType, `"` + hex.EncodeToString(sum[:16]) + `"`}
	}
	for path, file := range map[string]struct{ name, contentType string }{
		"/docs":          {"docs.html", "text/html; charset=utf-8"},
		"/docs/page.css": {"page.css", "text/css; charset=utf-8"},
		"/docs/page.js":  {"page.js", "text/javascript; charset=utf-8"},
	} {
		content, err := static.ReadFile("static/" + file.name)
		if err != nil {
			return nil, err
		}
		add(path, file.contentType, string(content))
	}
	add("/openapi.json", "application/json", snowraftv1.OpenAPI)
	return pages, nil
}

// page serves the static pages. It answers any other path with UnknownEndpoint.
func (h *handler) page(w http.ResponseWriter, r *http.Request) (method string, err error) {
	p := h.pages[r.URL.Path]
	switch {
	case p == nil:
		err = rpc.NewError(rpc.UnknownEndpoint, fmt.Sprintf("path %s does not exist; see /docs", r.URL.Path))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		err = wrongMethod(w, r, "GET, HEAD", "")
	}
	if err != nil {
		refuseJSON(w, r, err)
		return other, err
	}
	header := w.Header()
	header.Set("Content-Type", p.contentType)
	header.Set("ETag", p.etag)
	header.Set("Cache-Control", "no-cache") // caches must revalidate, because an upgrade changes the page
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Security-Policy", policy)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(p.content))
	return r.Method + " " + r.URL.Path, nil
}
