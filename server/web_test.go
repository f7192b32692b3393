package server_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// ask sends an HTTP request to a member and returns the status and the body.
func (n *node) ask(method, path, body string) (int, string) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, "http://"+n.server.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
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
	f := follower(t, startCluster(t, 3))
	for _, c := range []struct {
		method, path, body, want string
	}{
		{"GET", "/v1/workers", "", `"holder":"m`}, // only the leader can
		{"POST", "/v1/layouts", `{"layout":{"name":"t","fields":[{"kind":"FIELD_KIND_TIME","bits":41},{"kind":"FIELD_KIND_WORKER","bits":10},{"kind":"FIELD_KIND_SEQUENCE","bits":12}],"unitMs":"1","epochMs":"0"}}`, `"name":"t"`},
		{"GET", "/v1/layouts/t", "", `"unitMs":"1"`},
		{"GET", "/v1/layouts", "", `"name":"default"`},
		{"POST", "/v1/ids:generate", `{"count":3}`, `"count":3`},
		{"PATCH", "/v1/config", `{"config":{"waitThresholdMs":1500}}`, `"waitThresholdMs":"1500"`},
		{"GET", "/v1/members", "", `"name":"m3"`},
	} {
		if code, body := f.ask(c.method, c.path, c.body); code != http.StatusOK || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
		}
	}
	got := make(seen)
	for range 20 {
		code, body := f.ask("GET", "/id?n=3", "")
		lines := strings.Fields(body)
		if code != http.StatusOK || len(lines) != 3 {
			t.Fatalf("/id: %d %s", code, body)
		}
		for _, l := range lines {
			got.add(t, "/id", parseID(t, l))
		}
	}
}

func parseID(t *testing.T, text string) uint64 {
	t.Helper()
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
