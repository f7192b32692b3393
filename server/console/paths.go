package console

import (
	"net/http"
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
