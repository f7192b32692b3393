package console

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// root is the path prefix of all pages except the first.
const root = "/console"

// Config describes a Console.
type Config struct {
	// What is "member" or "gateway".
	What    string
	Version string
	// Conn connects to the process's own gRPC services, which check the rights of a context's principal.
	Conn grpc.ClientConnInterface
	// Watch calls WatchOverview there. It passes each overview to send, until ctx ends or send returns an error.
	Watch func(ctx context.Context, send func(*snowraftv1.Overview) error) error
	// Authenticate returns the principal of a request and the token of its session. If the token is empty, the request's
	// headers count. rpc.FromError can read its errors.
	Authenticate func(r *http.Request, token string) (*trust.Principal, error)
	Logger       *slog.Logger
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	cfg       Config
	api       *API
	pages     map[string]*page // keyed by path
	templates map[place]*template.Template
	assets    *assets
	sessions  *sessions
	watches   *watches
	shares    shares
	close     context.CancelFunc
}

// New returns a console, which the caller must close. It fails if a page of the program itself is
// invalid.
func New(cfg Config) (*Console, error) {
	c := &Console{cfg: cfg, api: newAPI(cfg.Conn), pages: make(map[string]*page), sessions: newSessions()}
	c.shares.now = c.sessions.now
	c.watches = &watches{watch: cfg.Watch, all: make(map[*trust.Principal]*watch)}
	c.watches.end, c.close = context.WithCancel(context.Background())
	var err error
	if c.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if c.templates, err = parsed(); err != nil {
		return nil, err
	}
	for _, p := range pages {
		c.pages[p.path] = p
	}
	return c, nil
}

// Close ends the calls by which the console follows the cluster. Pages that are shown afterwards have no overview.
func (c *Console) Close() { c.close() }

// Has reports whether the console serves a path.
func (*Console) Has(path string) bool {
	return path == "/" || path == root || strings.HasPrefix(path, root+"/")
}

// Serve answers a request. It returns the HTTP method with the path's pattern, and the error in the answer.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request) (method string, err error) {
	path := r.URL.Path
	secureHeaders(w.Header())
	switch {
	case path == root:
		return c.method(w, r, root, func() error { redirect(w, r, "/"); return nil })
	case path == sessionPath:
		return c.session(w, r)
	case strings.HasPrefix(path, assetsPath):
		return c.method(w, r, assetsPath+"{name}", func() error { return c.assets.serve(w, r) })
	case c.pages[path] != nil:
		return c.method(w, r, path, func() error { return c.show(w, r, c.pages[path], "") })
	}
	err = rpc.NewError(rpc.UnknownEndpoint, fmt.Sprintf("path %s does not exist; see /", path))
	refuse(w, http.StatusNotFound, err)
	return other, err
}

// other is the method name of requests that match nothing.
const other = "other"

// method serves a GET or HEAD request and rejects other methods.
func (*Console) method(w http.ResponseWriter, r *http.Request, pattern string, serve func() error) (string, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return other, wrongMethod(w, r, "GET, HEAD")
	}
	return r.Method + " " + pattern, serve()
}

func wrongMethod(w http.ResponseWriter, r *http.Request, allowed string) error {
	err := rpc.NewError(rpc.MethodNotAllowed, fmt.Sprintf("%s takes %s, not %s", r.URL.Path, allowed, r.Method))
	w.Header().Set("Allow", allowed)
	refuse(w, http.StatusMethodNotAllowed, err)
	return err
}

// refuse answers with one line of text.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, rpc.Message(err)+"\n") //nolint:gosec // plain text, which no browser interprets
}

// policy restricts a page to this port. Inline scripts and styles do not run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func secureHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	// With "no-referrer", browsers send forms with the origin "null".
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// viewer is the person behind a request.
type viewer struct {
	ctx     context.Context
	token   string // session token; empty without a session
	name    string // name of the token, for the page; empty without a session
	expired bool   // the session's token is no longer valid
}

// rights returns the admission of a viewer that may now read the overview.
func rights(ctx context.Context) (trust.Admission, error) {
	return trust.PrincipalOf(ctx).Admit(trust.RightReadCluster, "")
}

// overview returns the newest overview for a viewer.
func (c *Console) overview(ctx context.Context) (*snowraftv1.Overview, error) {
	if _, err := rights(ctx); err != nil { // perhaps lost since the watch began
		resp, err := c.api.View.GetOverview(ctx, &snowraftv1.GetOverviewRequest{})
		return resp.GetOverview(), err
	}
	return c.watches.newest(ctx)
}

// identifyViewer returns the viewer of a request, with a context that has the viewer's principal.
func (c *Console) identifyViewer(r *http.Request) (viewer, error) {
	v := viewer{ctx: trust.WithAddress(r.Context(), r.RemoteAddr), token: c.sessions.token(r)}
	p, err := c.cfg.Authenticate(r, v.token)
	if err != nil && v.token != "" {
		if !isUnauthenticated(err) {
			return v, err // the token cannot be checked now
		}
		c.sessions.end(r)
		v.token, v.expired = "", true
		p, err = c.cfg.Authenticate(r, "")
	}
	if err != nil {
		return v, err
	}
	if v.token != "" {
		v.name = p.TokenName()
	}
	v.ctx = trust.WithPrincipal(v.ctx, p)
	return v, nil
}
