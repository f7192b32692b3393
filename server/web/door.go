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
	// serve answers a request; route is the pattern that its path matched.
	serve func(d *door, w http.ResponseWriter, r *http.Request) (route string, status int)
	// refuse answers with an error, in the form of this face.
	refuse func(w http.ResponseWriter, r *http.Request, status int, e *rpc.Error) int
	// takes says that a GET takes numbers.
	takes bool
}

// noRoute counts requests that no pattern matches.
const noRoute = "none"

// choose finds the face that a path belongs to.
func choose(path string) face {
	switch {
	case path == "/id":
		return face{(*door).ids, refuseText, true}
	case strings.HasPrefix(path, seqPrefix):
		return face{(*door).next, refuseText, true}
	case strings.HasPrefix(path, segmentPrefix):
		return face{(*door).segment, refuseLeafSegment, true}
	case strings.HasPrefix(path, snowflakePrefix):
		return face{(*door).snowflake, refuseLeafSnowflake, true}
	case path == nextIDPath:
		return face{(*door).nextID, refuseTinyid, true}
	case path == nextIDSimplePath:
		return face{(*door).nextIDSimple, refuseTinyidSimple, true}
	case strings.HasPrefix(path, "/v1/"):
		return face{(*door).call, refuseJSON, false}
	default:
		return face{(*door).page, refuseJSON, false}
	}
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	f := choose(r.URL.Path)
	route, status := noRoute, 0
	defer func() {
		if what := recover(); what != nil {
			d.cfg.Logger.Error("a request made this member panic: please report it", "method", r.Method, "route", route, "panic", what, "stack", string(debug.Stack()))
			status = f.refuse(w, r, http.StatusInternalServerError, &rpc.Error{Code: codes.Internal, Message: "the request failed inside the member; its log says more"})
		}
		if d.cfg.Served != nil {
			d.cfg.Served(route, status, time.Since(began))
		}
	}()
	if e := d.admit(f, r); e != nil {
		status = refuseJSON(w, r, httpStatus(e), e)
		return
	}
	if d.cfg.Gate != nil {
		if err := d.cfg.Gate.Enter(); err != nil {
			e := readError(err)
			status = f.refuse(w, r, httpStatus(e), e)
			return
		}
		defer d.cfg.Gate.Leave()
	}
	if r.ContentLength != 0 && r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, limits.RequestBytes)
	}
	route, status = f.serve(d, w, r)
}

// admit refuses what browsers send on behalf of other sites: there is nothing
// else between a page on the web and the ports of whoever looks at it. What is
// read may be asked for, since no such page gets to see the answer. The name
// that a request was sent to is not judged: services and proxies give members
// names that they don't know of.
func (d *door) admit(f face, r *http.Request) *rpc.Error {
	if f.takes && r.Method == http.MethodGet && (r.Header["Sec-Fetch-Site"] != nil || r.Header["Origin"] != nil) {
		post := *r
		post.Method = http.MethodPost // which it is in effect
		r = &post
	}
	if err := d.origins.Check(r); err != nil {
		return &rpc.Error{Code: codes.PermissionDenied, Message: fmt.Sprintf("a page of another site sent this request: %v", err)}
	}
	return nil
}
