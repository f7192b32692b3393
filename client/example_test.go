package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/client"
)

// One client is enough for a process. The addresses of some members suffice: the client learns the others.
func ExampleNew() {
	c, err := client.New([]string{"id-1.example.com", "id-2.example.com:7700"},
		client.WithTimeout(3*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	id, err := c.NextID(context.Background())
	switch {
	case errors.Is(err, client.ErrUnavailable):
		log.Fatal("no member can be reached: ", err)
	case errors.Is(err, context.DeadlineExceeded):
		log.Fatal("no ID in time: ", err) // includes the reason, if a member returned one
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println(id)
}

// Concurrent callers share calls, so a caller need not request IDs in advance.
func ExampleClient_IDs() {
	c, err := client.New([]string{"127.0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	orders := c.IDs("orders") // a layout of the cluster
	id, err := orders.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	ids, err := orders.Append(ctx, []int64{id}, 99) // 99 more, for a hundred rows
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(ids))
}

// A session's IDs increase, whichever members serve them. Another process can continue the session from the last ID.
func ExampleIDs_Session() {
	c, err := client.New([]string{"127.0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	ctx := context.Background()
	events := c.IDs("").Session(0) // or what Last returned elsewhere
	first, err := events.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	second, err := events.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first < second, events.Last() == second)
}

// Hooks count calls for Prometheus or another monitoring system.
func ExampleWithHooks() {
	tries := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "snowraft_client_try_duration_seconds", Help: "Tries of calls, by method, member and outcome.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 8),
	}, []string{"method", "member", "code"})
	callers := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "snowraft_client_callers_total", Help: "Callers that were served by calls.",
	})
	batches := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "snowraft_client_batches_total", Help: "Calls, each for one or more callers.",
	}, []string{"outcome"})
	prometheus.MustRegister(tries, callers, batches)

	c, err := client.New([]string{"127.0.0.1"}, client.WithHooks(client.Hooks{
		Try: func(t client.TryInfo) {
			tries.WithLabelValues(t.Method, t.Member, status.Code(t.Err).String()).Observe(t.Took.Seconds())
		},
		Batch: func(b client.BatchInfo) {
			callers.Add(float64(b.Callers))
			outcome := "ok"
			if b.Err != nil {
				outcome = "error"
			}
			batches.WithLabelValues(outcome).Inc()
		},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
}

// tracer stands for OpenTelemetry's handler: otelgrpc.NewClientHandler() of
// go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc.
type tracer struct{}

func (tracer) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (tracer) HandleRPC(context.Context, stats.RPCStats)                         {}
func (tracer) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (tracer) HandleConn(context.Context, stats.ConnStats)                       {}

// A stats handler traces and measures each try of a call. A shared call is part of the trace of its first caller.
func ExampleWithDialOptions() {
	c, err := client.New([]string{"127.0.0.1"},
		client.WithDialOptions(grpc.WithStatsHandler(tracer{})))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
}
