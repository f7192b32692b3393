package frontend

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/console"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/web"
)

// maxHeaderBytes amounts to 16 KiB, because net/http adds 4 KiB for its buffer.
const maxHeaderBytes = 12 << 10

func (s *Server) newHTTP(b redisBackend) (*http.Server, error) {
	hosts := s.hosts()
	pages, err := console.New(console.Config{
		What: s.cfg.What, Version: s.cfg.Version, Conn: s.local, Watch: s.local.WatchOverview, Authenticate: s.byRequest, Logger: s.cfg.Logger.With("component", "console"),
	})
	if err != nil {
		return nil, err
	}
	s.console = pages
	clients, err := web.New(web.Config{
		Backend: webBackend{b}, Conn: s.local, Authenticate: s.byRequest, Hosts: hosts, Gate: &s.gate, Console: pages, CA: s.authority, Logger: s.cfg.Logger,
		Served: func(ctx context.Context, method string, err error, took time.Duration) {
			s.kernel.Of(kernel.HTTP, method).Served(ctx, s.recording(ctx), err, took)
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.readsMetrics(&scrapes{of: s.metrics.registry}, &scrapes{of: s.Metrics()}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, b.Failure())
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, s.Ready())
	})
	return &http.Server{
		Handler:     s.tracked(split(mux, s.traced(clients), hosts)),
		ConnContext: conn.With,
		ConnState: func(nc net.Conn, state http.ConnState) {
			if state == http.StateActive {
				conn.Of(nc).Requested()
			}
		},
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.With("component", "http").Handler(), slog.LevelDebug), // strangers cause these lines
	}, nil
}

// hosts returns the names by which a browser may reach this process; nil in a secured cluster, where a page of another site
// lacks a token.
func (s *Server) hosts() *web.Hosts {
	if !s.auth.open() {
		return nil
	}
	name, _ := os.Hostname()
	return web.NewHosts(append([]string{s.cfg.Ports.Host, name}, s.cfg.Ports.Names...)...)
}

// split passes the paths for operators to one handler and all other paths to another. A mux would redirect requests for a
// name such as "a//b". All callers reach the paths of health, whose answers hold nothing secret.
func split(operators, clients http.Handler, hosts *web.Hosts) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz", "/readyz":
			operators.ServeHTTP(w, r)
		case "/metrics":
			if err := hosts.Check(r); err != nil {
				web.Refuse(w, err)
				return
			}
			operators.ServeHTTP(w, r)
		default:
			clients.ServeHTTP(w, r)
		}
	})
}

// answer writes status 200 and "ok", or status 503 and the error.
func answer(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, strings.TrimPrefix(rpc.Message(err), "snowraft: ")) // prefix of errors of a gateway's client
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
