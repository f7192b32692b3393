package serve

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// waitingMember answers like the HTTP port of a member without quorum.
func waitingMember() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no leader\x1b[31m", http.StatusServiceUnavailable)
	})
	return mux
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(strings.TrimPrefix(address, "http://"), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestHealth(t *testing.T) {
	t.Parallel()
	plain, secured := httptest.NewServer(waitingMember()), httptest.NewTLSServer(waitingMember())
	t.Cleanup(plain.Close)
	t.Cleanup(secured.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	moved := httptest.NewServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(moved.Close)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 2*maxHealth))
	}))
	t.Cleanup(endless.Close)
	port := portOf(t, plain.URL)
	file := filepath.Join(t.TempDir(), "snowraft.yaml")
	if err := os.WriteFile(file, []byte("data-dir: /var/lib/snowraft\njoin: [b:7703, c:7703]\nhttp-addr: :"+port+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args    string
		environ map[string]string
		code    int
		want    string // on standard output or error
	}{
		"plain":               {args: "--http-addr 127.0.0.1:" + port, want: "127.0.0.1:" + port + ": healthy\n"},
		"secured":             {args: "--http-addr 127.0.0.1:" + portOf(t, secured.URL), want: ": healthy\n"},
		"all interfaces":      {args: "--http-addr :" + port, want: "127.0.0.1:" + port + ": healthy\n"},
		"all IPv6 interfaces": {args: "--http-addr [::]:" + port, want: "127.0.0.1:" + port + ": healthy\n"},
		"environment":         {environ: map[string]string{"SNOWRAFT_HTTP_ADDR": "localhost:" + port}, want: "localhost:" + port + ": healthy\n"},
		"configuration file":  {args: "--config " + file, want: ": healthy\n"},
		"file of environment": {environ: map[string]string{"SNOWRAFT_CONFIG": file}, want: ": healthy\n"},
		"flag before file":    {args: "--http-addr 127.0.0.1:1 --config " + file, code: cli.ExitFailed, want: "127.0.0.1:1: not healthy: connection refused; check"},
		"not ready":           {args: "--ready --http-addr :" + port, code: cli.ExitFailed, want: "not ready: no leader [31m\n"},
		"secured, not ready":  {args: "--ready --http-addr :" + portOf(t, secured.URL), code: cli.ExitFailed, want: "not ready: no leader"},
		"silent":              {args: "--timeout 50ms --http-addr " + silent.Addr().String(), code: cli.ExitFailed, want: "not healthy: no answer in time"},
		"huge header":         {args: "--http-addr :" + portOf(t, endless.URL), code: cli.ExitFailed, want: "not healthy: "},
		"elsewhere":           {args: "--http-addr :" + portOf(t, moved.URL), code: cli.ExitFailed, want: "not healthy: "},
		"unknown port":        {args: "--http-addr :0", code: cli.ExitUsage, want: `--http-addr ":0": the process chose its port`},
		"no file":             {args: "--config /nonexistent", code: cli.ExitUsage, want: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTestApp()
			a.Environ = c.environ
			code := a.run(t.Context(), append([]string{"health"}, strings.Fields(c.args)...)...)
			out, unwanted := a.Out.String(), a.Err.String()
			if c.code != cli.ExitDone {
				out, unwanted = unwanted, out
			}
			if code != c.code || !strings.Contains(out, c.want) || unwanted != "" {
				t.Errorf("exit code %d, prints %q and %q, want %d and %q", code, out, unwanted, c.code, c.want)
			}
		})
	}
}
