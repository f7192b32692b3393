package console

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

//go:embed templates
var templateFiles embed.FS

// loadTimeout bounds the time for loading a page, so that the page also appears soon while the cluster has problems.
const loadTimeout = 3 * time.Second

// sheet is the data of a page's layout.
type sheet struct {
	Page    *page
	Pages   []*page
	What    string // "member" or "gateway"
	Version string
	At      string // name of the process that composed the overview; empty without one
	Assets  string // path of the assets
	Again   string // path and query of the script's requests; empty if it sends none
	Every   int64  // interval of the script's requests, ms
	Reload  int    // seconds; 0: never
	Now     int64  // Unix ms
	Verdict verdict
	// Data is the page's data; nil if Problem or Denied explains its absence.
	Data    any
	Problem string
	Denied  string
	Scopes  []trust.Scope // scopes of all pages
	// Secured means that viewers can sign in. Viewer is the token name of a signed-in viewer.
	Secured  bool
	SignedIn bool
	Viewer   string
	Expired  bool
	Refused  string // reason why signing in failed
}

// parsed returns the templates of the pages, which all consoles of a process share.
var parsed = sync.OnceValues(func() (map[place]*template.Template, error) {
	all := make(map[place]*template.Template)
	for _, p := range pages {
		for _, at := range []place{{p, p.path}, {p, sessionPath}} {
			var err error
			if all[at], err = at.parse(); err != nil {
				return nil, fmt.Errorf("console: page %s: %w", p.name, err)
			}
		}
	}
	return all, nil
})

// place is a page with the path at which a browser gets it. A form that is refused is answered with a page, too.
type place struct {
	*page

	at string
}

func (p place) parse() (*template.Template, error) {
	to := func(path string) string { return relative(p.at, path) }
	return template.New("layout.html").Funcs(functions).Funcs(template.FuncMap{"to": to}).
		ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+p.name+".html")
}

// Methods for the templates.
func (p *page) Name() string  { return p.name }
func (p *page) Path() string  { return p.path }
func (p *page) Title() string { return p.title }

// Listed reports whether the navigation has the page.
func (p *page) Listed() bool { return !p.bare && p.within == nil }

// Place returns the path of the navigation that leads to the page.
func (p *page) Place() string {
	if p.within != nil {
		return p.within.path
	}
	return p.path
}

func (p *page) Scopes() []trust.Scope { return p.scopes }

// show answers with a page. It returns the error that the page shows.
func (c *Console) show(w http.ResponseWriter, r *http.Request, p *page, refused string) error {
	v, err := c.identifyViewer(r)
	render := func() ([]byte, error) { return c.render(r, p, v, err, refused) }
	var body []byte
	if rights, denied := rights(v.ctx); refused != "" || err != nil || denied != nil || v.expired {
		body, err = render()
	} else {
		of := view{r.URL.Path, r.URL.RawQuery, rights, v.token != ""}
		body, err = c.shares.get(of, p.interval()/4, render)
	}
	if body == nil {
		refuse(w, http.StatusInternalServerError, err)
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body)
	return err
}

// render returns a page, and the error that it shows. denied is the error of a viewer whose rights could not be read. The page is
// nil if its template failed.
func (c *Console) render(r *http.Request, p *page, v viewer, denied error, refused string) ([]byte, error) {
	s := &sheet{
		Page: p, Pages: pages, What: c.cfg.What, Version: c.cfg.Version, Assets: c.assets.prefix, Reload: int(p.reload.Seconds()),
		Now: time.Now().UnixMilli(), Secured: !trust.PrincipalOf(v.ctx).IsOpen(), Refused: refused, Scopes: scopes(),
	}
	query, err := r.URL.Query(), denied
	if err == nil {
		s.SignedIn, s.Viewer, s.Expired = v.token != "", v.name, v.expired
		ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), loadTimeout) // other viewers may wait for the page
		defer cancel()
		err = c.fill(ctx, s, query)
	}
	switch {
	case isDenied(err):
		s.Denied, s.Reload = message(err), 0
	case err != nil:
		s.Problem = message(err)
	}
	if refused == "" && s.Denied == "" && !p.bare {
		s.Again, s.Every = relative(p.path, p.path), p.interval().Milliseconds()
		if !p.frame && r.URL.RawQuery != "" {
			s.Again += "?" + r.URL.RawQuery
		}
	}
	var body bytes.Buffer
	if failed := c.templates[place{p, r.URL.Path}].Execute(&body, s); failed != nil {
		c.cfg.Logger.Error("page not rendered; please report it", "path", p.path, "error", failed)
		return nil, rpc.NewError(rpc.Internal, "the page could not be written; see the log of this "+c.cfg.What)
	}
	return body.Bytes(), err
}

// fill loads the data of a page.
func (c *Console) fill(ctx context.Context, s *sheet, query url.Values) error {
	in := &input{query: query, now: time.UnixMilli(s.Now), what: s.What}
	if !s.Page.bare {
		var err error
		if in.overview, err = c.overview(ctx); err != nil && s.Page.needsOverview {
			return err
		}
		if in.overview != nil { // has the correct time even if the clock of this process is off
			s.At, s.Verdict, s.Now = in.overview.GetComposedBy(), verdictOf(in.overview), in.overview.GetComposedAtMs()
			in.now = time.UnixMilli(s.Now)
		}
	}
	if s.Page.load == nil {
		return nil
	}
	data, err := s.Page.load(ctx, c.api, in)
	if err != nil {
		return err
	}
	s.Data = data
	return nil
}

// message returns the text of an error for people.
func message(err error) string {
	text := trust.Mask(rpc.Plain(rpc.FromError(err).Message))
	if text == "" {
		return "unknown error"
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
