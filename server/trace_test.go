package server_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/tracing"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/gateway"
)

const slowerThan = 200 * time.Millisecond

// begun is a trace that an application began.
type begun struct {
	id   trace.TraceID
	span trace.Span
}

// callerSpan is the span ID of the caller in each test.
var callerSpan = trace.SpanID{1}

// traceID returns a trace ID for a name.
func traceID(name string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte(name))
	copy(id[:], sum[:])
	return id
}

// parent returns the trace header of a request of callerSpan.
func parent(id trace.TraceID, sampled bool) string {
	return "00-" + id.String() + "-" + callerSpan.String() + "-" + map[bool]string{true: "01", false: "00"}[sampled]
}

// application begins traces like a program with the Go client.
func application(t *testing.T, tracer *tracing.Tracer) (context.Context, begun) {
	t.Helper()
	id := traceID(t.Name())
	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: callerSpan, TraceFlags: trace.FlagsSampled})
	ctx, span := tracer.Serve(t.Context(), caller, "application")
	return ctx, begun{id, span}
}

// below returns the child spans of a span.
func (c *collector) below(id trace.TraceID, parent trace.SpanID) []receivedSpan {
	in := inTrace(id)
	return c.all(func(s receivedSpan) bool { return in(s) && s.Parent().SpanID() == parent })
}

// tree returns a line for each span below a span: its instance, kind and name, indented by depth.
func (c *collector) tree(id trace.TraceID, parent trace.SpanID, indent string) (lines string) {
	for _, s := range c.below(id, parent) {
		lines += fmt.Sprintf("%s%s %s %s\n", indent, s.instance, s.SpanKind(), s.Name())
		lines += c.tree(id, s.SpanContext().SpanID(), indent+"  ")
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

// The test runs in real time, because a snapshot takes no synthetic time, and only work that takes time is traced without a request.
func TestSnapshotHasASpan(t *testing.T) {
	t.Parallel()
	c := new(collector)
	n := startCluster(t, 1, func(cfg *server.Config) { cfg.Tracer = c.tracer(cfg.Name, 1) })[0]
	until(t, "the collector has the span of a snapshot", func() bool {
		_ = n.server.Member().Node().Snapshot() // an error without new commands, which come each second
		return len(c.all(func(s receivedSpan) bool { return s.Name() == "snowraft.snapshot" })) > 0
	})
}

const (
	generateIDs   = "snowraft.v1.IdService/GenerateIds"
	nextNumbers   = "snowraft.v1.SequenceService/NextNumbers"
	allocateBlock = "snowraft.v1.SequenceService/AllocateBlock"
)

// traced is a cluster that sends its spans to a collector.
type traced struct {
	*collector
	leader, follower *node
	app              *tracing.Tracer // tracer of an application
}

func TestTracesReachFromClientToLeader(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T, traced){
		"through a follower":  traceThroughFollower,
		"through a gateway":   traceThroughGateway,
		"over HTTP":           traceOverHTTP,
		"waiting for a block": traceWaitForBlock,
		"without a trace":     traceNothing,
		"slow":                traceSlow,
		"refused":             traceRefused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				c := new(collector)
				nodes := startCluster(t, 3, func(cfg *server.Config) { cfg.Tracer = c.tracer(cfg.Name, slowerThan) })
				at := traced{c, leader(t, nodes), follower(t, nodes), c.tracer("app", slowerThan)}
				at.leader.createSequence(strict("orders"))
				test(t, at)
				// Other requests were quick and had no sampled context.
				for _, s := range c.all(func(s receivedSpan) bool {
					return s.EndTime().Sub(s.StartTime()) < slowerThan && !s.Parent().IsValid()
				}) {
					t.Errorf("unexpected span %s of %s", s.Name(), s.instance)
				}
			})
		})
	}
}

// client returns a client that calls one address, and never others that it would learn there.
func (at traced) client(t *testing.T, address string) *client.Client {
	t.Helper()
	cl, err := client.New([]string{address}, client.WithOneShot(), client.WithDialOptions(frontend.DialOptions(networkOf(t))...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close() })
	return cl
}

func traceThroughFollower(t *testing.T, at traced) {
	l, f := at.leader.cfg.Name, at.follower.cfg.Name
	ctx, of := application(t, at.app)
	// A request with a request ID is one command of the log. Other numbers come from a block that was granted before.
	req := &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1, RequestId: "order-1"}
	sequences := snowraftv1.NewSequenceServiceClient(at.client(t, at.follower.server.APIAddr()).Conn())
	if _, err := sequences.NextNumbers(ctx, req); err != nil {
		t.Fatal(err)
	}
	of.span.End()
	at.untilTree(t, of.id, "app server application\n"+
		"  app client "+nextNumbers+"\n"+
		"    "+f+" server "+nextNumbers+"\n"+
		"      "+f+" client "+nextNumbers+"\n"+
		"        "+l+" server "+nextNumbers+"\n"+
		"          "+l+" internal snowraft.propose\n")
}

func traceThroughGateway(t *testing.T, at traced) {
	l := at.leader
	g := openGatewayWith(t, gateway.Config{Members: []string{l.server.APIAddr()}, Tracer: at.tracer("g", slowerThan)})
	until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
	ctx, of := application(t, at.app)
	if _, err := at.client(t, g.APIAddr()).IDs("").Ranges(ctx, 100_000); err != nil {
		t.Fatal(err)
	}
	of.span.End()
	var member string
	until(t, "a member has served the gateway", func() bool {
		for _, s := range at.all(inTrace(of.id)) {
			if strings.HasPrefix(s.instance, "m") {
				member = s.instance
			}
		}
		return member != ""
	})
	at.untilTree(t, of.id, "app server application\n"+
		"  app client "+generateIDs+"\n"+
		"    g server "+generateIDs+"\n"+
		"      g client "+generateIDs+"\n"+
		"        "+member+" server "+generateIDs+"\n")
}

func traceOverHTTP(t *testing.T, at traced) {
	l, f := at.leader.cfg.Name, at.follower.cfg.Name
	forwarded := func(indent, granted string) string {
		return indent + f + " client " + nextNumbers + "\n" +
			indent + "  " + l + " server " + nextNumbers + "\n" + granted +
			indent + "    " + l + " internal snowraft.verify\n"
	}
	granted := "      " + l + " internal snowraft.wait\n" +
		"        " + l + " internal snowraft.propose\n"
	for _, test := range []struct{ path, body, route, below string }{
		{"/seq/orders", "", "/seq/{name}", forwarded("  ", granted)}, // the first number without an ID needs a block
		{"/v1/sequences:next", `{"sequence":"orders","count":1}`, "/v1/sequences:next", forwarded("  ", "")},
	} {
		id := traceID(test.path)
		post(t, "http://"+at.follower.server.HTTPAddr()+test.path, test.body, parent(id, true))
		at.untilTree(t, id, f+" server POST "+test.route+"\n"+test.below)
		for _, s := range at.below(id, callerSpan) {
			if got := s.get("http.request.method") + " " + s.get("http.route") + " " + s.get("http.response.status_code"); got != "POST "+test.route+" 200" {
				t.Errorf("the span says %q", got)
			}
		}
	}
}

func traceWaitForBlock(t *testing.T, at traced) {
	l, f := at.leader.cfg.Name, at.follower.cfg.Name
	at.leader.createSequence(relaxed("tickets"))
	id := traceID("waiting")
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent(id, true))
	if _, err := at.follower.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "tickets", Count: 1}); err != nil {
		t.Fatal(err)
	}
	at.untilTree(t, id, f+" server "+nextNumbers+"\n"+
		"  "+f+" internal snowraft.wait\n"+
		"    "+f+" internal snowraft.grant\n"+
		"      "+l+" server "+allocateBlock+"\n"+
		"        "+l+" internal snowraft.propose\n")
}

func traceNothing(t *testing.T, at traced) {
	until(t, "requests travel to the leader on a stream, although there is a collector", func() bool {
		if _, err := at.follower.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}); err != nil {
			t.Fatal(err)
		}
		return at.leader.scrape().has(`snowraft_requests_total{code="OK",method="snowraft.v1.SequenceService/StreamNumbers"`)
	})
}

// A caller that does not sample still finds a slow request in the spans by its trace.
func traceSlow(t *testing.T, at traced) {
	id := traceID("unsampled")
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent(id, false))
	now, err := at.follower.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err = at.follower.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1, After: ahead(expand(now)[0], 2*slowerThan)}); err != nil {
		t.Fatal(err)
	}
	var slow []receivedSpan
	until(t, "the collector has the slow request", func() bool {
		slow = at.all(inTrace(id))
		return len(slow) > 0
	})
	s := slow[0]
	if took := s.EndTime().Sub(s.StartTime()); len(slow) != 1 || took < slowerThan || !s.StartTime().Equal(began) {
		t.Errorf("%d spans, the first of %v from %v on; want one of at least %v, from %v on", len(slow), took, s.StartTime(), slowerThan, began)
	}
	if got := s.get("rpc.method") + " " + s.get("rpc.system.name") + " " + s.get("rpc.response.status_code"); got != generateIDs+" grpc OK" {
		t.Errorf("the span says %q", got)
	}
}

func traceRefused(t *testing.T, at traced) {
	id := traceID("refused")
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent(id, true))
	if _, err := at.follower.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "unknown-name", Count: 1}); err == nil {
		t.Fatal("an unknown sequence has numbers")
	}
	until(t, "the collector has the refused request", func() bool { return len(at.all(inTrace(id))) > 0 })
	for _, s := range at.all(inTrace(id)) {
		if s.SpanKind() == trace.SpanKindServer && (s.get("error.type") != "UNKNOWN_SEQUENCE" || s.Status().Code == codes.Error) {
			t.Errorf("%s of a refused request has the error %q and the status %v", s.Name(), s.get("error.type"), s.Status())
		}
		if text := fmt.Sprint(s.Name(), s.Attributes(), s.Events(), s.Status()); strings.Contains(text, "unknown-name") {
			t.Errorf("a span has the name of a sequence: %s", text)
		}
	}
}

// post sends an HTTP request with a trace context.
func post(t *testing.T, url, body, parent string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", parent)
	resp, err := browser(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %d %s, %v", url, resp.StatusCode, text, err)
	}
}
