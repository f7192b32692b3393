package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/test/testlog"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/internal/tracing/otlp"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/gateway"
)

const slowerThan = 200 * time.Millisecond

// openTracer returns a tracer that exports by the settings of the environment.
func openTracer(t testing.TB, service, instance string) *tracing.Tracer {
	t.Helper()
	return openTracerOf(t, service, instance, slowerThan)
}

func openTracerOf(t testing.TB, service, instance string, slowerThan time.Duration) *tracing.Tracer {
	t.Helper()
	tracer, err := otlp.Open(t.Context(), otlp.Config{
		Env: os.Getenv, Service: service, Instance: instance, Version: "test", SlowerThan: slowerThan,
		Logger: slog.New(slog.NewTextHandler(testlog.Of(t), nil)),
	})
	if err != nil || tracer == nil {
		t.Fatalf("Open() = %v, %v, want a tracer", tracer, err)
	}
	t.Cleanup(func() { tracer.Close(context.Background()) })
	return tracer
}

// begun is a trace that an application began.
type begun struct {
	id   trace.TraceID
	span trace.Span
}

// callerSpan is the span ID of the caller in each test.
var callerSpan = []byte{1, 0, 0, 0, 0, 0, 0, 0}

// traceID returns a trace ID for a name.
func traceID(name string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte(name))
	copy(id[:], sum[:])
	return id
}

// parent returns the trace header of a request of callerSpan.
func parent(id trace.TraceID, sampled bool) string {
	return "00-" + id.String() + "-0100000000000000-" + map[bool]string{true: "01", false: "00"}[sampled]
}

// application begins traces like a program with the Go client.
func application(t *testing.T, tracer *tracing.Tracer) (context.Context, begun) {
	t.Helper()
	id := traceID(t.Name())
	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: [8]byte{1}, TraceFlags: trace.FlagsSampled})
	ctx, span := tracer.Serve(t.Context(), caller, "application")
	return ctx, begun{id, span}
}

// below returns the child spans of a span.
func (c *collector) below(id trace.TraceID, parent []byte) []receivedSpan {
	in := inTrace(id)
	return c.all(func(s receivedSpan) bool {
		return in(s) && hex.EncodeToString(s.GetParentSpanId()) == hex.EncodeToString(parent)
	})
}

// tree returns a line for each span below a span: its instance, kind and name, indented by depth.
func (c *collector) tree(id trace.TraceID, parent []byte, indent string) (lines string) {
	for _, s := range c.below(id, parent) {
		lines += fmt.Sprintf("%s%s %s %s\n", indent, s.instance, strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"), s.GetName())
		lines += c.tree(id, s.GetSpanId(), indent+"  ")
	}
	return lines
}

// untilTree waits for a trace.
func (c *collector) untilTree(t *testing.T, id trace.TraceID, want string) {
	t.Helper()
	var got string
	defer func() {
		if t.Failed() {
			t.Logf("the trace:\n%s\nwant:\n%s", got, want)
		}
	}()
	until(t, "the collector has the whole trace", func() bool {
		got = c.tree(id, callerSpan, "")
		return got == want
	})
}

func TestSnapshotHasASpan(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+c.address)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	n := startCluster(t, 1, func(cfg *server.Config) { cfg.Tracer = openTracerOf(t, "snowraft", cfg.Name, 1) })[0]
	until(t, "the collector has the span of a snapshot", func() bool {
		_ = n.server.Member().Node().Snapshot() // an error without new commands, which come each second
		return len(c.all(func(s receivedSpan) bool { return s.GetName() == "snowraft.snapshot" })) > 0
	})
}

func TestTracesReachFromClientToLeader(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+c.address)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	nodes := startCluster(t, 3, func(cfg *server.Config) { cfg.Tracer = openTracer(t, "snowraft", cfg.Name) })
	l, f := leader(t, nodes), follower(t, nodes)
	app := openTracer(t, "shop", "app")
	if _, err := l.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
		Sequence: &snowraftv1.Sequence{Name: "orders", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT},
	}); err != nil {
		t.Fatal(err)
	}
	const next = "snowraft.v1.SequenceService/NextNumbers"

	t.Run("through a follower", func(t *testing.T) {
		cl, err := client.New([]string{f.server.APIAddr()}, client.WithOneShot())
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		ctx, of := application(t, app)
		// A request with a request ID is one command of the log. Other numbers come from a block that was granted before.
		req := &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1, RequestId: "order-1"}
		if _, err := snowraftv1.NewSequenceServiceClient(cl.Conn()).NextNumbers(ctx, req); err != nil {
			t.Fatal(err)
		}
		of.span.End()
		c.untilTree(t, of.id, "app SERVER application\n"+
			"  app CLIENT "+next+"\n"+
			"    "+f.cfg.Name+" SERVER "+next+"\n"+
			"      "+f.cfg.Name+" CLIENT "+next+"\n"+
			"        "+l.cfg.Name+" SERVER "+next+"\n"+
			"          "+l.cfg.Name+" INTERNAL snowraft.propose\n")
	})
	t.Run("through a gateway", func(t *testing.T) {
		g := openGatewayWith(t, gateway.Config{Members: []string{l.server.APIAddr()}, Tracer: openTracer(t, "snowraft-gateway", "g")})
		until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
		ctx, of := application(t, app)
		// Another client would learn the addresses of the members from the gateway, and call them.
		cl, err := client.New([]string{g.APIAddr()}, client.WithOneShot())
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		if _, err := cl.IDs("").Ranges(ctx, 100_000); err != nil {
			t.Fatal(err)
		}
		of.span.End()
		const ids = "snowraft.v1.IdService/GenerateIds"
		var member string
		until(t, "a member has served the gateway", func() bool {
			for _, s := range c.all(inTrace(of.id)) {
				if strings.HasPrefix(s.instance, "m") {
					member = s.instance
				}
			}
			return member != ""
		})
		c.untilTree(t, of.id, "app SERVER application\n"+
			"  app CLIENT "+ids+"\n"+
			"    g SERVER "+ids+"\n"+
			"      g CLIENT "+ids+"\n"+
			"        "+member+" SERVER "+ids+"\n")
	})
	t.Run("over HTTP", func(t *testing.T) {
		forwarded := func(indent, granted string) string {
			return indent + f.cfg.Name + " CLIENT " + next + "\n" +
				indent + "  " + l.cfg.Name + " SERVER " + next + "\n" + granted +
				indent + "    " + l.cfg.Name + " INTERNAL snowraft.verify\n"
		}
		granted := "      " + l.cfg.Name + " INTERNAL snowraft.wait\n" +
			"        " + l.cfg.Name + " INTERNAL snowraft.propose\n"
		for _, test := range []struct{ path, body, route, below string }{
			{"/seq/orders", "", "/seq/{name}", forwarded("  ", granted)}, // the first number without an ID needs a block
			{"/v1/sequences:next", `{"sequence":"orders","count":1}`, "/v1/sequences:next", forwarded("  ", "")},
		} {
			id := traceID(test.path)
			post(t, "http://"+f.server.HTTPAddr()+test.path, test.body, parent(id, true))
			c.untilTree(t, id, f.cfg.Name+" SERVER POST "+test.route+"\n"+test.below)
			for _, s := range c.below(id, callerSpan) {
				if got := s.get("http.request.method") + " " + s.get("http.route") + " " + number(s, "http.response.status_code"); got != "POST "+test.route+" 200" {
					t.Errorf("the span says %q", got)
				}
			}
		}
	})
	t.Run("waiting for a block", func(t *testing.T) {
		if _, err := l.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: "tickets", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED},
		}); err != nil {
			t.Fatal(err)
		}
		id := traceID("waiting")
		ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent(id, true))
		if _, err := f.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "tickets", Count: 1}); err != nil {
			t.Fatal(err)
		}
		const allocate = "snowraft.v1.SequenceService/AllocateBlock"
		c.untilTree(t, id, f.cfg.Name+" SERVER "+next+"\n"+
			"  "+f.cfg.Name+" INTERNAL snowraft.wait\n"+
			"    "+f.cfg.Name+" INTERNAL snowraft.grant\n"+
			"      "+l.cfg.Name+" SERVER "+allocate+"\n"+
			"        "+l.cfg.Name+" INTERNAL snowraft.propose\n")
	})
	t.Run("without a trace", func(t *testing.T) {
		until(t, "requests travel to the leader on a stream, although there is a collector", func() bool {
			if _, err := f.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}); err != nil {
				t.Fatal(err)
			}
			return l.scrape().has(`snowraft_requests_total{code="OK",method="snowraft.v1.SequenceService/StreamNumbers"`)
		})
	})
	t.Run("slow or refused", func(t *testing.T) {
		// A caller that does not sample still finds a slow request in the spans by its trace.
		unsampled := traceID("unsampled")
		ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent(unsampled, false))
		now, err := f.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err = f.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1, After: ahead(expand(now)[0], 2*slowerThan)}); err != nil {
			t.Fatal(err)
		}
		var slow []receivedSpan
		until(t, "the collector has the slow request", func() bool {
			slow = c.all(inTrace(unsampled))
			return len(slow) > 0
		})
		s := slow[0]
		took := time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano())
		if len(slow) != 1 || took < slowerThan || time.Unix(0, int64(s.GetStartTimeUnixNano())).Sub(began).Abs() > slowerThan {
			t.Errorf("%d spans, the first of %v from %v on; want one of at least %v, from %v on", len(slow), took,
				time.Unix(0, int64(s.GetStartTimeUnixNano())), slowerThan, began)
		}
		if got := s.get("rpc.method") + " " + s.get("rpc.system.name") + " " + s.get("rpc.response.status_code"); got != "snowraft.v1.IdService/GenerateIds grpc OK" {
			t.Errorf("the span says %q", got)
		}

		refused := traceID("refused")
		ctx = metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent(refused, true))
		if _, err := f.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "unknown-name", Count: 1}); err == nil {
			t.Fatal("an unknown sequence has numbers")
		}
		until(t, "the collector has the refused request", func() bool { return len(c.all(inTrace(refused))) > 0 })
		for _, s := range c.all(inTrace(refused)) {
			if s.GetKind() == tracev1.Span_SPAN_KIND_SERVER && (s.get("error.type") != "UNKNOWN_SEQUENCE" || s.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR) {
				t.Errorf("%s of a refused request has the error %q and the status %v", s.GetName(), s.get("error.type"), s.GetStatus())
			}
			if strings.Contains(s.String(), "unknown-name") {
				t.Errorf("a span has the name of a sequence: %v", s)
			}
		}
	})
	if err := l.server.Member().Node().Snapshot(); err != nil {
		t.Fatal(err)
	}
	// Other requests were quick and had no sampled context.
	for _, s := range c.all(func(s receivedSpan) bool {
		return time.Duration(s.GetEndTimeUnixNano()-s.GetStartTimeUnixNano()) < slowerThan && len(s.GetParentSpanId()) == 0
	}) {
		t.Errorf("unexpected span: %v", s)
	}

}

func number(s receivedSpan, key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return strconv.FormatInt(a.GetValue().GetIntValue(), 10)
		}
	}
	return ""
}

// post sends an HTTP request with a trace context.
func post(t *testing.T, url, body, parent string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", parent)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %d %s, %v", url, resp.StatusCode, text, err)
	}
}
