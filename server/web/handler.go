package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// Backend is the part of a member that the short paths need. rpc.FromError can read its errors. Contexts have no deadline: the
// Backend bounds the time of its calls.
type Backend interface {
	// Next issues count numbers of a sequence, at most limits.Texts: first, first + increment, ... A count of 0 only checks the
	// right of the caller.
	Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error)
	// AppendNext appends the next count numbers as text, each followed by a newline. The text of a number has the sequence's
	// format, if there is one. AppendNext writes long text to w in pieces, see [Flush], and returns the rest. It takes all
	// numbers at once, so an error comes before any text. A repeated request with the same nonempty request ID gets the same
	// numbers.
	AppendNext(ctx context.Context, dst []byte, w io.Writer, sequence string, count uint64, requestID string) ([]byte, error)
	// AppendIDs appends count IDs of a layout in the same way. An empty layout means the default layout.
	AppendIDs(ctx context.Context, dst []byte, w io.Writer, layout string, count uint32) ([]byte, error)
}

// Gate counts the requests in progress and can reject requests.
type Gate interface {
	// Enter returns an error if it rejects a request; rpc.FromError can read the error. Otherwise the handler calls Leave once,
	// after it has answered.
	Enter() error
	Leave()
}

// Console serves the pages for people. It checks the rights of their viewers itself.
type Console interface {
	// Has reports whether the console serves a path.
	Has(path string) bool
	// Serve answers r. It returns the arguments of [Config.Served].
	Serve(w http.ResponseWriter, r *http.Request) (method string, err error)
}

// Config holds the settings of the handler. All but Hosts are required. Many goroutines call its functions and interfaces.
type Config struct {
	Backend Backend
	// Conn leads to the member's own gRPC services.
	Conn grpc.ClientConnInterface
	// Authenticate returns the principal of the caller of r. token is the token in a parameter of r; it does not count if it is
	// empty or if r has an Authorization header. rpc.FromError can read the error. The contexts of calls hold the principal, and
	// Backend and the services behind Conn check its rights.
	Authenticate func(r *http.Request, token string) (*trust.Principal, error)
	// Hosts, if not nil, are the host names to which a browser may send requests.
	Hosts *Hosts
	// Gate can reject requests.
	Gate Gate
	// Console serves the pages for people, at the paths for which Has returns true.
	Console Console
	// CA returns the CA certificate of a request's connection, in PEM; rpc.FromError can read its error. If CA is nil, there is
	// no such path.
	CA func(r *http.Request) ([]byte, error)
	// Served is called after every request with the context of the request. method is the HTTP method and the
	// pattern of the path, such as "GET /seq/{name}", or "other" if no pattern matches. err is nil or an error that
	// rpc.FromError can read. took is the duration of the request.
	Served func(ctx context.Context, method string, err error, took time.Duration)
	// Logger logs panics.
	Logger *slog.Logger
}

type handler struct {
	cfg     Config
	gateway *gateway
	pages   map[string]*page
	origins *http.CrossOriginProtection
}

// New returns the handler of all paths except /metrics, /healthz and /readyz. It fails only if the program's own
// API description is invalid.
func New(cfg Config) (http.Handler, error) {
	g, err := newGateway(cfg.Conn)
	if err != nil {
		return nil, err
	}
	p, err := newPages()
	if err != nil {
		return nil, err
	}
	return &handler{cfg: cfg, gateway: g, pages: p, origins: http.NewCrossOriginProtection()}, nil
}

// endpoint answers the paths of one pattern.
type endpoint struct {
	// get and post are "GET " and "POST " with the pattern. The pattern is a path whose last part may be a name in braces, and may have
	// another one before. prefix is the path before the first name, and infix the path between both names.
	get, post, prefix, infix string
	named                    bool // the pattern ends with a name
	// take answers with numbers, even for a GET, or returns an error. name is the end of the path, after the prefix.
	take func(h *handler, w http.ResponseWriter, r *http.Request, name string) error
	// refuse answers with an error, in the form of this endpoint.
	refuse refuser
	// forbid answers a request that a browser must not send, in the form of this endpoint.
	forbid refuser
	// public reports whether the endpoint is the same for all callers, with and without a token.
	public bool
	// formToken reports whether the token may also be a parameter. take then authenticates the caller.
	formToken bool
	// serve answers requests if take is nil. It returns the arguments of [Config.Served].
	serve func(h *handler, w http.ResponseWriter, r *http.Request) (method string, err error)
}

// refuser answers a request with an error.
type refuser func(w http.ResponseWriter, r *http.Request, err error)

const (
	// other is the method of requests that match no pattern.
	other = "other"
	// maxUnauthenticated is the largest body, and the largest query with a token, that is read before the caller is authenticated,
	// in bytes.
	maxUnauthenticated = 4 << 10
)

var (
	numberEndpoints = []*endpoint{
		numbers("/id", (*handler).ids, refuseText, refuseText),
		numbers("/seq/{name}", (*handler).next, refuseText, refuseText),
		numbers("/api/segment/get/{key}", (*handler).segment, refuseLeafSegment, refuseSpring),
		numbers("/api/snowflake/get/{key}", (*handler).snowflake, refuseLeafSnowflake, refuseSpring),
		numbers("/leaf/{layout}/api/segment/get/{key}", (*handler).segmentBelow, refuseLeafSegment, refuseSpring),
		numbers("/leaf/{layout}/api/snowflake/get/{key}", (*handler).snowflakeBelow, refuseLeafSnowflake, refuseSpring),
		tinyid("/tinyid/id/nextId", (*handler).nextID, refuseTinyid),
		tinyid("/tinyid/id/nextIdSimple", (*handler).nextIDSimple, refuseTinyidSimple),
		tinyid("/tinyid/id/nextSegmentId", (*handler).nextSegment, refuseTinyid),
		tinyid("/tinyid/id/nextSegmentIdSimple", (*handler).nextSegmentSimple, refuseTinyidSimple),
		numbers("/ids/as-string/{name}", (*handler).cosidText, refuseCosID, refuseCosID),
		numbers("/ids/{name}", (*handler).cosidID, refuseCosID, refuseCosID),
		{prefix: "/" + cosidSegments, named: true, serve: (*handler).cosid, refuse: refuseCosID, forbid: refuseCosID},
		{prefix: "/" + cosidMachines, named: true, public: true, serve: (*handler).machines, refuse: refuseCosID, forbid: refuseCosID},
	}
	callEndpoint    = &endpoint{serve: (*handler).call, refuse: refuseJSON, forbid: refuseJSON}
	consoleEndpoint = &endpoint{public: true, serve: func(h *handler, w http.ResponseWriter, r *http.Request) (string, error) {
		return h.cfg.Console.Serve(w, r)
	}, refuse: refuseText, forbid: refuseText}
	caEndpoint   = &endpoint{public: true, serve: (*handler).ca, refuse: refuseJSON, forbid: refuseJSON}
	pageEndpoint = &endpoint{public: true, serve: (*handler).page, refuse: refuseJSON, forbid: refuseJSON}
)

func numbers(pattern string, take func(h *handler, w http.ResponseWriter, r *http.Request, name string) error,
	refuse, forbid refuser) *endpoint {
	prefix, rest, named := strings.Cut(pattern, "{")
	_, rest, _ = strings.Cut(rest, "}")
	infix, _, _ := strings.Cut(rest, "{")
	return &endpoint{get: "GET " + pattern, post: "POST " + pattern, prefix: prefix, infix: infix, named: named, take: take, refuse: refuse, forbid: forbid}
}

func tinyid(pattern string, take func(h *handler, w http.ResponseWriter, r *http.Request, name string) error, refuse refuser) *endpoint {
	e := numbers(pattern, take, refuse, refuseSpring)
	e.formToken = true
	return e
}

// matches reports whether the end of a path after the prefix follows the pattern.
func (e *endpoint) matches(name string) bool {
	if e.infix == "" {
		return e.named || name == ""
	}
	_, rest, _ := strings.Cut(name, "/")
	return strings.HasPrefix("/"+rest, e.infix)
}

// choose returns the endpoint that a path belongs to, and the end of the path after the endpoint's prefix.
func (h *handler) choose(path string) (e *endpoint, name string) {
	if h.cfg.Console.Has(path) {
		return consoleEndpoint, ""
	}
	for _, e := range numberEndpoints {
		if name, ok := strings.CutPrefix(path, e.prefix); ok && e.matches(name) {
			return e, name
		}
	}
	switch {
	case path == caPath && h.cfg.CA != nil:
		return caEndpoint, ""
	case strings.HasPrefix(path, "/v1/"):
		return callEndpoint, ""
	}
	return pageEndpoint, ""
}

// method returns the method for [Config.Served] of a request that take answers.
func (e *endpoint) method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet:
		return e.get
	case http.MethodPost:
		return e.post
	}
	return other
}

// answer serves an admitted request.
func (e *endpoint) answer(h *handler, w http.ResponseWriter, r *http.Request, name string) (method string, err error) {
	if e.take == nil {
		return e.serve(h, w, r)
	}
	method, err = e.method(r), e.take(h, w, r, name)
	if err == nil {
		return method, nil
	}
	if status, _ := read(err); status == http.StatusMethodNotAllowed {
		method = other
	}
	failure, isSpring := errors.AsType[springFailure](err)
	switch {
	case isSpring:
		failure.answer(w, r)
	case !e.formToken && denied(err):
		e.forbid(w, r, err)
	default:
		e.refuse(w, r, err)
	}
	return method, err
}

// authenticate returns a request whose context holds the principal of its caller. On an error it returns r unchanged.
func (h *handler) authenticate(r *http.Request, token string) (*http.Request, error) {
	p, err := h.cfg.Authenticate(r, token)
	if err != nil {
		return r, err
	}
	return r.WithContext(trust.WithAddress(trust.WithPrincipal(r.Context(), p), r.RemoteAddr)), nil
}

// denied reports whether an error means that the caller is not authenticated or lacks a right.
func denied(err error) bool {
	_, e := read(err)
	return e.Code == codes.Unauthenticated || e.Code == codes.PermissionDenied
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	e, name := h.choose(r.URL.Path)
	method, err := other, error(nil)
	defer func() {
		if what := recover(); what != nil {
			h.cfg.Logger.Error("request caused a panic; please report it", "method", r.Method, "path", r.URL.Path, "panic", what, "stack", string(debug.Stack()))
			err = rpc.NewError(rpc.Internal, "the request failed inside the member; see its log")
			e.refuse(w, r, err)
		}
		h.cfg.Served(r.Context(), method, readable(err), time.Since(began))
	}()
	if err = h.admit(e, r); err != nil {
		e.forbid(w, r, err)
		return
	}
	if err = h.cfg.Gate.Enter(); err != nil {
		e.refuse(w, r, err)
		return
	}
	defer h.cfg.Gate.Leave()
	if !e.public && !e.formToken {
		if r, err = h.authenticate(r, ""); err != nil {
			e.forbid(w, r, err)
			return
		}
	}
	most := int64(limits.RequestBytes)
	if e.public || e.formToken {
		most = maxUnauthenticated
	}
	if r.ContentLength != 0 && r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, most)
	}
	method, err = e.answer(h, w, r, name)
}

// admit rejects requests that a browser sends on behalf of another site's page: nothing else protects the ports that the
// browser's user reaches. It admits reads, because the page does not see the answer. The exception is a site that makes its
// own host name resolve to this process: admit rejects its requests by that name.
//
// admit also rejects requests for numbers that a browser sends before its user requests them.
func (h *handler) admit(e *endpoint, r *http.Request) error {
	if e.take != nil && r.Method == http.MethodGet && (r.Header["Sec-Fetch-Site"] != nil || r.Header["Origin"] != nil) {
		post := *r
		post.Method = http.MethodPost // a GET that takes numbers has the effect of a POST
		r = &post
	}
	if err := h.cfg.Hosts.Check(r); err != nil {
		return err
	}
	if err := h.origins.Check(r); err != nil {
		return rpc.NewError(rpc.BrowserRequest, fmt.Sprintf("a page of another site sent this request: %v", err))
	}
	if sign := speculative(r.Header); e.take != nil && sign != "" {
		return rpc.NewError(rpc.BrowserRequest, fmt.Sprintf("%s: a prefetch or prerender, which the header %s announces, takes no numbers; "+
			"send the request when it is needed", r.URL.Path, sign))
	}
	return nil
}

// speculative returns the header by which a browser announces a request that its user may never make: a prefetch, a prerender,
// or a preview of a page. It is empty for other requests.
func speculative(h http.Header) string {
	for _, name := range [...]string{"Sec-Purpose", "Purpose", "X-Moz"} {
		for _, value := range h[name] {
			value = strings.ToLower(value)
			if strings.Contains(value, "prefetch") || strings.Contains(value, "prerender") || strings.Contains(value, "preview") {
				return name
			}
		}
	}
	return ""
}
