package console

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// relative returns a path as seen from the page at another path. All links are relative, so that pages also work behind a proxy
// that adds a prefix to their paths.
func relative(from, path string) string {
	if up := strings.Repeat("../", strings.Count(from, "/")-1); up != "" {
		return up + path[1:]
	}
	return "./" + path[1:]
}

// redirect leads a browser to a page. http.Redirect would make the path absolute.
func redirect(w http.ResponseWriter, r *http.Request, path string) {
	w.Header().Set("Location", relative(r.URL.Path, path))
	w.WriteHeader(http.StatusSeeOther)
}

// link returns a path with the nonempty fields of a query.
func link(path string, fields map[string]string) string {
	q := make(url.Values)
	for key, value := range fields {
		if value != "" {
			q.Set(key, value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// pager holds the links from page to page of a list.
type pager struct {
	After       bool   // not the first page
	First, Next string // links; Next is empty after the last page
}

// newPager returns the links of a page that begins after a page token. next is the token of the next page.
func newPager(path string, fields map[string]string, after, next string) pager {
	return pagerBy("after", path, fields, after, next)
}

// pagerBy is newPager for a page with several lists. key is the field of the query with the page token of this list.
func pagerBy(key, path string, fields map[string]string, after, next string) pager {
	p := pager{After: after != "", First: link(path, fields)}
	if next != "" {
		fields = maps.Clone(fields)
		if fields == nil {
			fields = make(map[string]string)
		}
		fields[key] = next
		p.Next = link(path, fields)
	}
	return p
}
