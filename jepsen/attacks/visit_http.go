package attacks

import (
	"context"
	"net"
	"net/http"
	"strings"
)

// answered makes an HTTP request on a new connection, over TLS if secured, and returns the status of the answer.
func answered(req *http.Request, secured bool) (int, error) {
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: unjudged(),
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			return dial(req.Context(), network, address)
		},
	}
	if secured {
		req.URL.Scheme = "https"
	}
	resp, err := (&http.Client{Transport: transport, Timeout: patience}).Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// rebind makes a request of a page whose site resolves its name to the member; see [Rebind].
func (v visit) rebind(ctx context.Context) {
	_, _ = Rebind(ctx, v.HTTP, http.MethodPost, "/v1/ids:generate", "{}")
}

// httpCalls makes requests that need rights, with tokens that have none. An open member would serve such requests, so
// they come from the page of another site there.
func (v visit) httpCalls(ctx context.Context) {
	for path, body := range map[string]string{ //nolint:gosec // no credentials
		"/v1/layouts":                       `{"name": "hostile"}`,
		"/v1/leader:transfer":               `{}`,
		"/v1/sequences":                     `{"name": "hostile"}`,
		"/v1/ids:generate":                  `{"count": 1000000}`,
		"/v1/workers:acquire":               `{"holder": "hostile"}`,
		"/v1/tokens":                        `{"name": "hostile", "scopes": ["tokens:admin"]}`,
		"/id?count=100000":                  "",
		"/seq/hostile":                      "",
		"/tinyid/id/nextId?bizType=hostile": "",
		"/segments/distributor/hostile/hostile?offset=0&step=1": "",
		"/leaf/default/api/snowflake/get/hostile":               "",
		"/" + string(v.hex(8<<10)):                              "",
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+v.HTTP+path, strings.NewReader(body))
		if err != nil {
			return
		}
		switch {
		case !v.Secured:
			req.Header.Set("Content-Type", "text/plain")
			req.Header.Set("Origin", "http://attacker.example")
		case v.IntN(2) == 0:
			req.Header.Set("Authorization", "Bearer "+v.Token)
		default:
			req.Header.Set("Authorization", "Bearer "+v.later())
		}
		if _, err := answered(req, v.Secured); err != nil {
			return
		}
	}
}

// hex returns from 1 to most random hexadecimal digits.
func (v visit) hex(most int) []byte {
	digits := make([]byte, 1+v.IntN(most))
	for i := range digits {
		digits[i] = "0123456789abcdef"[v.IntN(16)]
	}
	return digits
}
