package server_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
)

// ask sends an HTTP request to a member and returns the status and the body.
func (n *node) ask(method, path, body string) (int, string) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, "http://"+n.server.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	resp, err := browser(n.t).Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func TestHTTPOnAFollower(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := follower(t, startCluster(t, 3))
		for _, c := range []struct {
			method, path, body, want string
		}{
			{"GET", "/v1/workers", "", `"holder":"m`}, // only the leader can serve it
			{"POST", "/v1/layouts", `{"name":"t","fields":[{"kind":"time","bits":41},{"kind":"worker","bits":10},{"kind":"sequence","bits":12}],"unitMs":"1","epochAtMs":"0"}`, `"name":"t"`},
			{"GET", "/v1/layouts/t", "", `"unitMs":"1"`},
			{"GET", "/v1/layouts", "", `"name":"default"`},
			{"POST", "/v1/ids:generate", `{"count":3}`, `{"ranges":[],"ids":["`},
			{"POST", "/v1/ids:generate", `{"count":3,"packed":false}`, `"count":3`},
			{"PATCH", "/v1/config", `{"waitThresholdMs":1500}`, `"waitThresholdMs":"1500"`},
			{"GET", "/v1/members", "", `"name":"m3"`},
		} {
			if code, body := f.ask(c.method, c.path, c.body); code != http.StatusOK || !strings.Contains(body, c.want) {
				t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
			}
		}
		// No sequence has a name that is not UTF-8, and the leader is not asked for it.
		if code, body := f.ask("POST", "/seq/%ff?request_id=x", ""); code != http.StatusNotFound || !strings.Contains(body, "UNKNOWN_SEQUENCE") {
			t.Errorf("a name that is not UTF-8: %d %s", code, body)
		}
		got := make(seen)
		for range 20 {
			code, body := f.ask("GET", "/id?count=3", "")
			lines := strings.Fields(body)
			if code != http.StatusOK || len(lines) != 3 {
				t.Fatalf("/id: %d %s", code, body)
			}
			for _, l := range lines {
				got.add(t, "/id", parseID(t, l))
			}
		}
	})
}

// A long answer is complete, and has no ID twice.
func TestHTTPLongText(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		if code, body := n.ask("POST", "/v1/sequences", `{"name":"s"}`); code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
		for _, path := range []string{"/id?count=100000", "/seq/s?count=100000"} {
			code, body := n.ask("POST", path, "")
			got := make(seen)
			for l := range strings.Lines(body) {
				got.add(t, path, parseID(t, strings.TrimSuffix(l, "\n")))
			}
			if code != http.StatusOK || len(got) != 100_000 {
				t.Errorf("%s: %d, %d numbers", path, code, len(got))
			}
		}
	})
}

func parseID(t *testing.T, text string) int64 {
	t.Helper()
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// An HTTP client must not be able to set metadata that a member trusts: a follower would take the call for a forwarded call and
// reject it.
func TestHTTPCannotForgeForwarding(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := follower(t, startCluster(t, 3))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+f.server.HTTPAddr()+"/v1/workers", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for _, prefix := range []string{"", "Grpc-Metadata-", "Grpcgateway-"} {
			req.Header.Set(prefix+rpc.ForwardedBy, "forged")
			req.Header.Set(prefix+rpc.ForwardedInto, "forged")
		}
		resp, err := browser(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(resp.Body)
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	})
}

func TestHTTPRefusals(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		for _, c := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"GET", "/v1/layouts/none", "", 404, `"reason":"UNKNOWN_LAYOUT"`},
			{"GET", "/id?layout=none", "", 404, "UNKNOWN_LAYOUT: "},
			{"GET", "/v1/sequences/a//b", "", 404, `"sequence":"a//b"`}, // not redirected for its path
			{"POST", "/seq/a?request_id=%ff", "", 400, "request ID: expected UTF-8"},
			{"GET", "/api/snowflake/get/none", "", 500, "Result{id=-2, status=EXCEPTION}"},
			{"PATCH", "/segments/shop/none?step=1", "", 404, `"code":"UNKNOWN_SEQUENCE"`},
			{"POST", "/segments/distributor/shop/none?offset=0&step=1", "", 404, "create it as a relaxed sequence"},
			{"GET", "/ids/none", "", 404, `"code":"UNKNOWN_LAYOUT"`},
			{"GET", "/api/snowflake/get/", "", 404, `"message":"No message available"`},
			{"POST", "/v1/ids:generate", `{"count":1000001}`, 400, `"reason":"INVALID_ARGUMENT"`},
			{"POST", "/v1/ids:generate", `{"layout":"` + strings.Repeat("x", 65<<10) + `"}`, 413, "65536"},
			{"GET", "/nothing", "", 404, `"code":5`},
		} {
			if code, body := n.ask(c.method, c.path, c.body); code != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
			}
		}
		for _, path := range []string{"/seq/none", "/api/segment/get/none", "/tinyid/id/nextId?bizType=none&token=x"} {
			n.ask("POST", path, "")
		}
		_, body := n.ask("GET", "/metrics", "")
		for _, line := range []string{
			`snowraft_requests_total{code="NOT_FOUND",method="GET /v1/layouts/{name}",protocol="http",reason="UNKNOWN_LAYOUT"} 1`,
			`snowraft_requests_total{code="NOT_FOUND",method="GET /id",protocol="http",reason="UNKNOWN_LAYOUT"} 1`,
			`snowraft_requests_total{code="NOT_FOUND",method="POST /seq/{name}",protocol="http",reason="UNKNOWN_SEQUENCE"} 1`,
			`snowraft_requests_total{code="NOT_FOUND",method="POST /api/segment/get/{key}",protocol="http",reason="UNKNOWN_SEQUENCE"} 1`,
			`snowraft_requests_total{code="NOT_FOUND",method="POST /tinyid/id/nextId",protocol="http",reason="UNKNOWN_SEQUENCE"} 1`,
		} {
			if !strings.Contains(body, line) {
				t.Errorf("/metrics lacks %s", line)
			}
		}
	})
}

func TestHTTPHeaderLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		for size, want := range map[int]int{15 << 10: http.StatusOK, 17 << 10: http.StatusRequestHeaderFieldsTooLarge} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.server.HTTPAddr()+"/id", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Large", strings.Repeat("x", size))
			resp, err := browser(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("a header of %d bytes: %d, want %d", size, resp.StatusCode, want)
			}
		}
	})
}

// While a member closes, a request is answered, rejected with the reason, or cannot connect.
func TestCloseUnderHTTPLoad(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		caller := browser(t)
		address := "http://" + n.server.HTTPAddr()
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		var answered atomic.Int64
		for i := range 4 {
			asking.Go(func() {
				for ctx.Err() == nil {
					breathe()
					path, body := "/id", ""
					if i%2 == 0 {
						path, body = "/v1/ids:generate", `{"count":1}`
					}
					resp, err := caller.Post(address+path, "application/x-www-form-urlencoded", strings.NewReader(body))
					if err != nil {
						continue // the port is closed
					}
					raw, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					refused := resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(raw), rpc.ShuttingDown)
					if err == nil && resp.StatusCode != http.StatusOK && !refused {
						t.Errorf("%s: %d %s", path, resp.StatusCode, raw)
					}
					answered.Add(1)
				}
			})
		}
		until(t, "requests are answered", func() bool { return answered.Load() > 100 })
		n.stop()
		cancel()
		asking.Wait()
	})
}
