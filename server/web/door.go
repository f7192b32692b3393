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
)

// Backend is what the short paths need of a member. Errors are readable with
// rpc.FromError. Contexts come without a deadline: how long a call may take is up to it.
type Backend interface {
	// Next gives out count numbers of a sequence: first, first + increment, ...
	Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error)
	// AppendNext appends the next count numbers as text, in the sequence's format
	// if it has one, each followed by a newline. What gets too long goes to w on the
	// way, see [Flush], and the rest is returned. An error comes before all of it:
	// the numbers are taken in one go.
	AppendNext(ctx context.Context, dst []byte, w io.Writer, sequence string, count uint64) ([]byte, error)
	// AppendIDs does the same with count IDs of a layout, "" being the default.
	AppendIDs(ctx context.Context, dst []byte, w io.Writer, layout string, count uint32) ([]byte, error)
}

// Gate is passed by every request on its way in and out.
type Gate interface {
	// Enter refuses a request with an error that rpc.FromError can read. After
	// nil, Leave is called once.
	Enter() error
	Leave()
}

// Config is what the face stands on.
type Config struct {
	Backend Backend
	// Conn leads to the member's own gRPC services.
	Conn grpc.ClientConnInterface
	// Gate, if not nil, can keep requests out.
	Gate Gate
	// Served, if not nil, is told of every request: the pattern that its path
	// matched, the status of the answer, and how long it took.
	Served func(route string, status int, took time.Duration)
	// Logger hears of panics; nil: nobody does.
	Logger *slog.Logger
}

type door struct {
	cfg     Config
	gateway *gateway
	pages   map[string]*page
	origins *http.CrossOriginProtection
}

// New is the handler of everything but /metrics, /healthz and /readyz.
func New(cfg Config) (http.Handler, error) {
	if cfg.Backend == nil || cfg.Conn == nil {
		return nil, errors.New("web: Backend and Conn must be set")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	g, err := newGateway(cfg.Conn)
	if err != nil {
		return nil, err
	}
	p, err := newPages()
	if err != nil {
		return nil, err
	}
	return &door{cfg: cfg, gateway: g, pages: p, origins: http.NewCrossOriginProtection()}, nil
}

// face is one form of answers.
type face struct {
	// route is the path or, up to a name in braces, how the path begins.
	route string
	// take answers with numbers, which it takes even for a GET, or returns why not.
	take func(d *door, w http.ResponseWriter, r *http.Request, name string) error
	// refuse answers with an error, in the form of this face.
	refuse func(w http.ResponseWriter, r *http.Request, err error) (status int)
	// serve does all of it where take is nil.
	serve func(d *door, w http.ResponseWriter, r *http.Request) (route string, status int)
}

// noRoute counts requests that no pattern matches.
const noRoute = "none"

var (
	numberFaces = []*face{
		{route: "/id", take: (*door).ids, refuse: refuseText},
		{route: "/seq/{name}", take: (*door).next, refuse: refuseText},
		{route: "/api/segment/get/{key}", take: (*door).segment, refuse: refuseLeafSegment},
		{route: "/api/snowflake/get/{key}", take: (*door).snowflake, refuse: refuseLeafSnowflake},
		{route: "/tinyid/id/nextId", take: (*door).nextID, refuse: refuseTinyid},
		{route: "/tinyid/id/nextIdSimple", take: (*door).nextIDSimple, refuse: refuseTinyidSimple},
	}
	callFace = &face{serve: (*door).call, refuse: refuseJSON}
	pageFace = &face{serve: (*door).page, refuse: refuseJSON}
)

// choose finds the face that a path belongs to, and the name in the path.
func choose(path string) (f *face, name string) {
	for _, f := range numberFaces {
		prefix, _, named := strings.Cut(f.route, "{")
		if name, ok := strings.CutPrefix(path, prefix); ok && (named || name == "") {
			return f, name
		}
	}
	if strings.HasPrefix(path, "/v1/") {
		return callFace, ""
	}
	return pageFace, ""
}

// answer serves a request that may come in.
func (f *face) answer(d *door, w http.ResponseWriter, r *http.Request, name string) (route string, status int) {
	if f.take == nil {
		return f.serve(d, w, r)
	}
	err := f.take(d, w, r, name)
	if err == nil {
		return f.route, http.StatusOK
	}
	if failure, ok := errors.AsType[springFailure](err); ok {
		return f.route, failure.answer(w, r)
	}
	return f.route, f.refuse(w, r, err)
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	f, name := choose(r.URL.Path)
	route, status := noRoute, 0
	defer func() {
		if what := recover(); what != nil {
			d.cfg.Logger.Error("a request made this member panic: please report it", "method", r.Method, "route", route, "panic", what, "stack", string(debug.Stack()))
			status = f.refuse(w, r, &rpc.Error{Code: codes.Internal, Message: "the request failed inside the member; its log says more"})
		}
		if d.cfg.Served != nil {
			d.cfg.Served(route, status, time.Since(began))
		}
	}()
	if err := d.admit(f, r); err != nil {
		status = refuseJSON(w, r, err)
		return
	}
	if d.cfg.Gate != nil {
		if err := d.cfg.Gate.Enter(); err != nil {
			status = f.refuse(w, r, err)
			return
		}
		defer d.cfg.Gate.Leave()
	}
	if r.ContentLength != 0 && r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, limits.RequestBytes)
	}
	route, status = f.answer(d, w, r, name)
}

// admit refuses what browsers send on behalf of other sites: there is nothing
// else between a page on the web and the ports of whoever looks at it. What is
// read may be asked for, since no such page gets to see the answer. The name
// that a request was sent to is not judged: services and proxies give members
// names that they don't know of.
func (d *door) admit(f *face, r *http.Request) error {
	if f.take != nil && r.Method == http.MethodGet && (r.Header["Sec-Fetch-Site"] != nil || r.Header["Origin"] != nil) {
		post := *r
		post.Method = http.MethodPost // which it is in effect
		r = &post
	}
	if err := d.origins.Check(r); err != nil {
		return &rpc.Error{Code: codes.PermissionDenied, Message: fmt.Sprintf("a page of another site sent this request: %v", err)}
	}
	return nil
}
