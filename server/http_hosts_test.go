package server_test

import (
	"net/http"
	"testing"

	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/gateway"
)

// Browsers reach the HTTP port of an open member and of its gateway under the names of the setting. Health has answers for
// every name, so that monitors need no setting.
func TestHTTPHosts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		member := startCluster(t, 1, func(c *server.Config) { c.HTTPHosts = []string{"ids.example"} })[0]
		g := openGatewayWith(t, gateway.Config{Members: []string{member.server.APIAddr()}, HTTPHosts: []string{"ids.example"}})
		until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
		for _, address := range []string{member.server.HTTPAddr(), g.HTTPAddr()} {
			for _, tc := range []struct {
				host, path string
				code       int
			}{
				{"ids.example", "/id", http.StatusOK}, {"rebound.example", "/id", http.StatusForbidden},
				{"ids.example", "/metrics", http.StatusOK}, {"rebound.example", "/metrics", http.StatusForbidden},
				{"rebound.example", "/healthz", http.StatusOK}, {"rebound.example", "/readyz", http.StatusOK},
			} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+tc.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Host = tc.host
				req.Header.Set("Accept-Language", "de")
				resp, err := browser(t).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != tc.code {
					t.Errorf("%s of %s: %d, want %d", tc.path, tc.host, resp.StatusCode, tc.code)
				}
			}
		}
	})
}
