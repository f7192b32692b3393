//go:build process

package processtest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// refused sends calls over HTTP that change tokens and that members refuse.
func (s *secretive) refused(t *testing.T) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: s.config.Clone()}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	pasted := s.wrong.Text()
	for _, token := range []string{s.token.Text(), s.wrong.Text(), ""} {
		for _, c := range []struct{ method, path, body string }{
			{http.MethodPost, "/v1/tokens", `{"token":{"name":"all","scopes":["ids:issue:*"]}}`},
			{http.MethodPost, "/v1/tokens", `{"name":"all","scopes":["ids:issue:*"]}`},
			{http.MethodPost, "/v1/tokens", `{"name":"x","scopes":["nothing"]}`},
			{http.MethodPatch, "/v1/tokens/none", `{"scopes":["ids:issue:*"]}`},
			{http.MethodPatch, "/v1/tokens/all", `{"scopes":["nothing"]}`},
			// The user pasted a token into a wrong field.
			{http.MethodPost, "/v1/tokens", `{"name":"` + pasted + `","scopes":["ids:issue:*"],"rate":"` + pasted + `"}`},
			{http.MethodPost, "/v1/tokens", `{"token":{"name":"` + pasted + `","scopes":["` + pasted + `"]}}`},
			{http.MethodPatch, "/v1/tokens/all", `{"expiresAtMs":"` + pasted + `"}`},
			{http.MethodPatch, "/v1/tokens/all", `{"` + pasted + `":1}`},
			{http.MethodPatch, "/v1/tokens/all", `{"scopes":["` + pasted + `"]}`},
			{http.MethodPatch, "/v1/tokens/" + pasted, `{"scopes":["ids:issue:*"]}`},
			{http.MethodDelete, "/v1/tokens/" + pasted, ""},
			{http.MethodGet, "/v1/sequences/" + pasted, ""},
			{http.MethodPatch, "/v1/sequences/orders", `{"reset":"` + pasted + `"}`},
			{http.MethodGet, "/v1/sequences?pageSize=" + pasted, ""},
			{http.MethodGet, "/id?count=" + pasted, ""},
		} {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "https://"+s.members[0].http+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode/100 != 4 {
				t.Errorf("%s %s: status %s, want 4xx", c.method, c.path, resp.Status)
			}
			s.add("refusals of "+c.method+" "+c.path, fmt.Appendf(body, "%v", resp.Header))
		}
	}
}

// quit stops a member with the stacks of its goroutines in its log.
func quit(t *testing.T, m *member) {
	t.Helper()
	m.signal(syscall.SIGQUIT)
	m.exit()
	if !strings.Contains(m.stderr.String(), "goroutine ") {
		t.Errorf("%s wrote no stacks: %s", m.name, m.stderr.tail(20))
	}
}
