package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	gatewayv1 "github.com/snowraft/snowraft/proto/gateway/snowraft/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// maxTimeout is the longest timeout that a request may set. The port cuts answers off after 30 s.
const maxTimeout = 25 * time.Second

// The only headers that affect calls. grpcTimeout sets the timeout, such as 500m or 2S. receipt brings the client's latest
// receipt in base64; the answer has a receipt only if the request has the header, which may be empty.
const (
	grpcTimeout = "Grpc-Timeout"
	receipt     = "Snowraft-Receipt"
)

// gateway serves the public services as HTTP and JSON by the annotations of the protos.
type gateway struct{ mux *runtime.ServeMux }

// call is the state that the gateway keeps for one HTTP request.
type call struct {
	answered context.Context // ends when the answer has been written
	query    url.Values
	method   string // argument of [Config.Served]
	err      error  // error of the answer; nil for none
	// probe makes note set matched instead of calling the handler.
	probe, matched bool
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Answered returns the context of the HTTP request that a call belongs to, which ends when the answer has been written; nil if the
// call belongs to none.
func Answered(ctx context.Context) context.Context {
	if c := callOf(ctx); c != nil {
		return c.answered
	}
	return nil
}

func newGateway(conn grpc.ClientConnInterface) (*gateway, error) {
	none := func(string) (string, bool) { return "", false }
	g := &gateway{}
	g.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, codec),
		runtime.WithUnescapingMode(runtime.UnescapingModeAllCharacters),
		runtime.WithIncomingHeaderMatcher(none),
		runtime.WithOutgoingHeaderMatcher(none),
		runtime.WithOutgoingTrailerMatcher(none),
		runtime.WithErrorHandler(g.fail),
		runtime.WithRoutingErrorHandler(g.failRouting),
		runtime.WithMiddlewares(note),
		runtime.WithWriteContentLength(),
	)
	conn = strict{conn}
	if err := errors.Join(
		register(g.mux, conn, snowraftv1.NewIdServiceClient, gatewayv1.RegisterIdServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewLayoutServiceClient, gatewayv1.RegisterLayoutServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewBackfillServiceClient, gatewayv1.RegisterBackfillServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewWorkerServiceClient, gatewayv1.RegisterWorkerServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewClusterServiceClient, gatewayv1.RegisterClusterServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewSequenceServiceClient, gatewayv1.RegisterSequenceServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewTemplateServiceClient, gatewayv1.RegisterTemplateServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewReservationServiceClient, gatewayv1.RegisterReservationServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewTokenServiceClient, gatewayv1.RegisterTokenServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewOperationsServiceClient, gatewayv1.RegisterOperationsServiceHandlerClient),
		register(g.mux, conn, snowraftv1.NewViewServiceClient, gatewayv1.RegisterViewServiceHandlerClient),
	); err != nil {
		return nil, err
	}
	return g, nil
}

func register[C any](mux *runtime.ServeMux, conn grpc.ClientConnInterface, client func(grpc.ClientConnInterface) C,
	handle func(context.Context, *runtime.ServeMux, C) error) error {
	return handle(context.Background(), mux, client(conn))
}

// unconstrained turns a pattern's {name=*} into {name}.
var unconstrained = strings.NewReplacer("=**}", "}", "=*}", "}")

// note wraps every handler. It stores the matched pattern, and rejects a body whose names differ from the path's.
func note(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		c := callOf(r.Context())
		if c.probe {
			c.matched = true
			return
		}
		if p, ok := runtime.HTTPPattern(r.Context()); ok {
			c.method = r.Method + " " + unconstrained.Replace(p.String())
		}
		if e := checkNames(params, r.Body); e != nil {
			c.refuse(w, r, e)
			return
		}
		next(w, r, params)
	}
}

func (h *handler) call(w http.ResponseWriter, r *http.Request) (method string, err error) {
	c := &call{answered: r.Context(), method: other}
	ctx, cancel := context.WithTimeout(context.WithValue(trust.WithAddress(r.Context(), r.RemoteAddr), callKey{}, c), timeout(r.Header))
	defer cancel()
	inner, err := sanitize(ctx, c, r)
	if err != nil {
		refuseJSON(w, r, err)
		return other, err
	}
	w.Header()["Cache-Control"], w.Header()["X-Content-Type-Options"] = noStore, noSniff
	h.gateway.mux.ServeHTTP(w, inner)
	return c.method, c.err
}

// refuse answers with an error.
func (c *call) refuse(w http.ResponseWriter, r *http.Request, err error) {
	c.err = err
	refuseJSON(w, r, err)
}

func timeout(h http.Header) time.Duration {
	if h.Get(grpcTimeout) == "" {
		return limits.CallTimeout
	}
	return maxTimeout // upper bound; the gateway reads the header
}

// sanitize returns the request for the gateway: its whole body, a path in which only separators are unescaped, and no header
// except grpcTimeout; its context has the receipt. No other header can therefore become metadata, or turn a POST into another method.
func sanitize(ctx context.Context, c *call, r *http.Request) (*http.Request, error) {
	var err error
	if c.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, invalid("query: " + err.Error())
	}
	if !utf8.ValidString(r.URL.Path) {
		return nil, invalid("path: expected UTF-8")
	}
	for _, values := range c.query {
		for _, value := range values {
			if !utf8.ValidString(value) {
				return nil, invalid("query: expected UTF-8")
			}
		}
	}
	if values := r.Header[receipt]; len(values) > 0 {
		brought, err := base64.StdEncoding.DecodeString(values[0])
		if err != nil {
			return nil, invalid("header " + receipt + ": expected base64")
		}
		ctx = metadata.NewIncomingContext(ctx, metadata.Pairs(rpc.Receipt, string(brought)))
	}
	inner := r.WithContext(ctx)
	inner.Header = http.Header{}
	if t := r.Header.Get(grpcTimeout); t != "" {
		inner.Header.Set(grpcTimeout, t)
	}
	inner.Host, inner.RemoteAddr = "", "" // both would become metadata
	inner.URL = &url.URL{Path: r.URL.Path, RawPath: separated(r.URL.EscapedPath()), RawQuery: r.URL.RawQuery}
	var raw []byte
	if r.Body != nil && r.Body != http.NoBody {
		if raw, err = io.ReadAll(r.Body); err != nil {
			return nil, unreadable(err)
		}
	}
	inner.Body, inner.ContentLength = body{bytes.NewReader(raw)}, int64(len(raw))
	return inner, nil
}

// separated escapes the parts of a path that belong to a name, and unescapes other parts. The gateway takes ":verb" at the end
// of a path for a custom method, and takes "%2F", but not "%2f", for a separator.
func separated(path string) string {
	path = strings.ReplaceAll(path, "%2F", "%2f")
	if name, ok := strings.CutPrefix(path, "/v1/sequences/"); ok {
		return "/v1/sequences/" + strings.ReplaceAll(name, ":", "%3A")
	}
	return strings.NewReplacer("%3A", ":", "%3a", ":").Replace(path)
}

// fail answers with the error of a service, or with the error of a malformed request.
func (g *gateway) fail(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if bad, ok := errors.AsType[*runtime.HTTPStatusError](err); ok {
		err = status.Error(codes.InvalidArgument, bad.Error())
	}
	_, e := read(err)
	if e.Code == codes.InvalidArgument && e.Reason == "" {
		// Protobuf's errors contain a non-breaking space in some builds, to keep programs from relying on their text.
		e = invalid(describe(strings.TrimPrefix(strings.ReplaceAll(e.Message, "\u00a0", " "), "proto: ")))
	}
	callOf(ctx).refuse(w, r, e)
}

// failRouting answers a request that matches no handler.
func (g *gateway) failRouting(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int) {
	c := callOf(ctx)
	if c.probe {
		return
	}
	var err error
	switch code {
	case http.StatusMethodNotAllowed:
		err = wrongMethod(w, r, g.allowed(r), "")
	case http.StatusBadRequest:
		err = invalid("path: expected percent-encoded UTF-8")
	default:
		err = rpc.NewError(rpc.UnknownEndpoint, fmt.Sprintf("path %s does not exist; see /openapi.json", r.URL.Path))
	}
	c.refuse(w, r, err)
}

// allowed lists the HTTP methods of a path, for the Allow header.
func (g *gateway) allowed(r *http.Request) string {
	var all []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		c := &call{probe: true}
		probe := r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		probe.Method = method
		g.mux.ServeHTTP(nowhere{}, probe)
		if c.matched {
			all = append(all, method)
		}
	}
	return strings.Join(all, ", ")
}

// nowhere discards the bodies of probes.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// body is a request body that is in memory.
type body struct{ *bytes.Reader }

func (body) Close() error { return nil }
