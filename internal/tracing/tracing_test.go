package tracing

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const parent = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"

func newTracer(slowerThan time.Duration) (*Tracer, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	return New(Config{
		Provider: provider, SlowerThan: slowerThan, Close: provider.Shutdown,
	}), recorder
}

func TestNilTracerDoesNothing(t *testing.T) {
	var tracer *Tracer
	ctx, work := tracer.Begin(t.Context(), "work", trace.SpanKindInternal)
	work.End("FAILED")
	tracer.Close(ctx)
	if tracer.Slow(time.Hour) || ctx != t.Context() {
		t.Error("a nil tracer traces")
	}
	if ctx, span := tracer.Serve(t.Context(), Context(parent, ""), "call"); span != nil || ctx != t.Context() {
		t.Errorf("Serve() of a nil tracer = %v, want no span", span)
	}
	if span := tracer.Late(trace.SpanContext{}, "call", trace.SpanKindServer, time.Hour); span != nil {
		t.Errorf("Late() of a nil tracer = %v, want no span", span)
	}
	if allocs := testing.AllocsPerRun(100, func() {
		_, work := tracer.Begin(ctx, "work", trace.SpanKindInternal)
		work.End("")
	}); allocs != 0 {
		t.Errorf("work that is not traced takes %v allocations, want none", allocs)
	}
}

func TestServeStartsSpanOnlyForSampledParent(t *testing.T) {
	t.Parallel()
	tracer, recorder := newTracer(time.Second)
	for _, header := range []string{"", "no parent", strings.TrimSuffix(parent, "1") + "0"} {
		if ctx, span := tracer.Serve(t.Context(), Context(header, ""), "call"); span != nil || ctx != t.Context() {
			t.Errorf("Serve() with the parent %q has a span, want none", header)
		}
	}
	ctx, span := tracer.Serve(t.Context(), Context(parent, ""), "call")
	_, work := tracer.Begin(ctx, "work", trace.SpanKindInternal)
	work.End("NO_LEADER")
	span.End()
	ended := recorder.Ended()
	if len(ended) != 2 || ended[0].Parent().SpanID() != span.SpanContext().SpanID() || ended[1].Parent().SpanID().String() != "0102030405060708" {
		t.Fatalf("spans = %v, want work below the call and the call below its caller", ended)
	}
}

func TestWorkIsTracedOnlyIfSlow(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]int{0: 0, time.Second: 1, 2 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			tracer, recorder := newTracer(limit)
			began := time.Now()
			_, work := tracer.Begin(context.Background(), "work", trace.SpanKindInternal)
			time.Sleep(time.Second)
			work.End("")
			ended := recorder.Ended()
			if len(ended) != want {
				t.Fatalf("work of 1 s with a limit of %v has %d spans, want %d", limit, len(ended), want)
			}
			if want == 1 && (!ended[0].StartTime().Equal(began) || ended[0].EndTime().Sub(began) != time.Second || ended[0].Parent().IsValid()) {
				t.Errorf("span from %v to %v, want from %v for 1 s, without a parent", ended[0].StartTime(), ended[0].EndTime(), began)
			}
		})
	}
}

func TestSpansPerSecondAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracer, recorder := newTracer(time.Second)
		flood := func() {
			for range 2 * maxSampled {
				if _, span := tracer.Serve(t.Context(), Context(parent, ""), "call"); span != nil {
					span.End()
				}
				if span := tracer.Late(trace.SpanContext{}, "call", trace.SpanKindServer, time.Second); span != nil {
					span.End()
				}
			}
		}
		flood()
		if got, want := len(recorder.Ended()), maxSampled+maxSlow; got != want {
			t.Errorf("%d spans of a flood, want %d", got, want)
		}
		time.Sleep(time.Second / 2)
		flood()
		if got, want := len(recorder.Ended()), 3*(maxSampled+maxSlow)/2; got != want {
			t.Errorf("%d spans of two floods half a second apart, want %d", got, want)
		}
	})
}

func TestContextIgnoresLongHeaders(t *testing.T) {
	t.Parallel()
	if c := Context("cc-"+parent[3:]+"-"+strings.Repeat("x", maxParent), ""); c.IsValid() {
		t.Error("a long traceparent counts")
	}
	if c := Context(parent, "vendor="+strings.Repeat("x", 200)); !c.IsSampled() || c.TraceState().Len() != 1 {
		t.Error("a tracestate is lost")
	}
	many := strings.TrimSuffix(strings.Repeat("v=1,", maxState), ",")
	if c := Context(parent, many); !c.IsSampled() || c.TraceState().Len() != 0 {
		t.Error("a long tracestate counts")
	}
}

func TestReceivedNeedsOneParent(t *testing.T) {
	t.Parallel()
	if c := Received([]string{parent}, []string{"a=1", "b=2"}); !c.IsSampled() || c.TraceState().String() != "a=1,b=2" {
		t.Errorf("Received() of a split state = %v, want all of the state", c)
	}
	if c := Received([]string{parent}, nil); !c.IsSampled() || c.TraceState().Len() != 0 {
		t.Errorf("Received() without a state = %v", c)
	}
	for _, parents := range [][]string{nil, {}, {parent, parent}} {
		if c := Received(parents, nil); c.IsValid() {
			t.Errorf("Received() of %d parents = %v, want none", len(parents), c)
		}
	}
}

func TestHeadersRepeatContext(t *testing.T) {
	t.Parallel()
	if h := Headers(t.Context()); h != nil {
		t.Errorf("Headers() without a span = %q, want none", h)
	}
	ctx := trace.ContextWithRemoteSpanContext(t.Context(), Context(parent, "vendor=1"))
	if h := Headers(ctx); strings.Join(h, " ") != "traceparent "+parent+" tracestate vendor=1" {
		t.Errorf("Headers() = %q", h)
	}
}

func FuzzContext(f *testing.F) {
	f.Add(parent, "vendor=1")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, header, state string) {
		c := Context(header, state)
		if again := Headers(trace.ContextWithRemoteSpanContext(t.Context(), c)); c.IsValid() != (len(again) > 0) {
			t.Errorf("Context(%q, %q) = %v, whose headers are %q", header, state, c, again)
		}
	})
}
