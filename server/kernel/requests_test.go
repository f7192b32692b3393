package kernel

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

func TestRequestsCountOutcomesAndDurations(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(r)
	r.Of(HTTP, "GET /never") // called by no client
	get := r.Of(HTTP, "GET /id")
	get.Served(t.Context(), nil, nil, 0)
	get.Served(t.Context(), nil, nil, 10*time.Microsecond)
	get.Served(t.Context(), nil, &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout}, 11*time.Microsecond)
	get.Served(t.Context(), nil, errors.New("unforeseen"), time.Hour)
	incr := r.Of(Redis, "incr")
	incr.Answered(1000, 2, 50*time.Microsecond)
	incr.Failed(&rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader})
	incr.Failed(&rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader})
	if again := r.Of(Redis, "incr"); again != incr {
		t.Error("of() returned another method of the same name")
	}
	const want = `# HELP snowraft_request_duration_seconds Time from the arrival of a request to its answer, by protocol and method.
# TYPE snowraft_request_duration_seconds histogram
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="1e-05"} 2
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="4e-05"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="0.00016"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="0.00064"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="0.00256"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="0.01024"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="0.04096"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="0.16384"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="0.65536"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="2.62144"} 3
snowraft_request_duration_seconds_bucket{method="GET /id",protocol="http",le="+Inf"} 4
snowraft_request_duration_seconds_sum{method="GET /id",protocol="http"} 3600.000021
snowraft_request_duration_seconds_count{method="GET /id",protocol="http"} 4
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="1e-05"} 0
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="4e-05"} 0
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="0.00016"} 1002
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="0.00064"} 1002
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="0.00256"} 1002
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="0.01024"} 1002
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="0.04096"} 1002
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="0.16384"} 1002
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="0.65536"} 1002
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="2.62144"} 1002
snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="+Inf"} 1002
snowraft_request_duration_seconds_sum{method="incr",protocol="redis"} 0.0501
snowraft_request_duration_seconds_count{method="incr",protocol="redis"} 1002
# HELP snowraft_requests_total Requests answered, by protocol, method, status code and reason of the error.
# TYPE snowraft_requests_total counter
snowraft_requests_total{code="NOT_FOUND",method="GET /id",protocol="http",reason="UNKNOWN_LAYOUT"} 1
snowraft_requests_total{code="OK",method="GET /id",protocol="http",reason=""} 2
snowraft_requests_total{code="OK",method="incr",protocol="redis",reason=""} 1000
snowraft_requests_total{code="UNAVAILABLE",method="incr",protocol="redis",reason="NO_LEADER"} 2
snowraft_requests_total{code="UNKNOWN",method="GET /id",protocol="http",reason=""} 1
`
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	var got strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "snowraft_request") {
			got.WriteString(line)
		}
	}
	if got.String() != want {
		t.Errorf("/metrics = %s\nwant %s", got.String(), want)
	}
}

// Counting a request allocates nothing.
func TestRequestsCountWithoutAllocation(t *testing.T) {
	r := New(Config{})
	if n := testing.AllocsPerRun(100, func() { r.Of(GRPC, "s/M").Served(t.Context(), nil, nil, time.Millisecond) }); n != 0 {
		t.Errorf("counting a request allocates %v times, want 0", n)
	}
}
