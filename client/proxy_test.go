package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// pages is a server that answers every request with an HTML page.
func pages(t *testing.T, status int, http2 bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<html><body>A page</body></html>"))
	}), Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(!http2)
	s.Protocols.SetUnencryptedHTTP2(http2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return listener.Addr().String()
}

// The client recognizes an endpoint that is not a member, such as a proxy or a member's own HTTP port. Members next to it
// serve all calls.
func TestNonMemberEndpoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		http2  bool
		says   string
	}{
		{http.StatusOK, false, "HTTP/1.1"},
		{http.StatusOK, true, "proxy"},
		{http.StatusNotFound, true, "proxy"},
		{http.StatusBadGateway, true, "proxy"},
		{http.StatusForbidden, true, "proxy"},
	} {
		t.Run(fmt.Sprint(c.status, " http2=", c.http2), func(t *testing.T) {
			t.Parallel()
			addr := pages(t, c.status, c.http2)
			f := startFakes(t, 0)
			var err error
			for limit := time.Second; ; limit *= 2 { // a busy machine may need more than a second for the first answer
				_, err = f.client([]string{addr}).NextID(within(t, limit))
				if _, ok := errors.AsType[*Error](err); !ok {
					t.Fatal(err)
				}
				if strings.Contains(err.Error(), c.says) || limit > time.Minute {
					break
				}
			}
			if text := err.Error(); !strings.Contains(text, c.says) || !strings.Contains(text, addr) || strings.Contains(text, "desc =") || len(text) > 300 {
				t.Error(text)
			}
			t.Log(err)
			member := f.add("127.0.0.1:0")
			askAll(t, f.client([]string{addr, member.addr}), 2, 20)
		})
	}
}

// The client skips an endpoint that accepts connections and never answers.
func TestSilentEndpoint(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	f := startFakes(t, 1)
	c := f.client([]string{listener.Addr().String(), f.members[0].addr})
	if slowest := askAll(t, c, 4, 20); slowest > unhindered() {
		t.Errorf("the slowest call took %v", slowest)
	}
	_, err = f.client([]string{listener.Addr().String()}).NextID(within(t, time.Second))
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Error(err)
	}
	t.Log(err)
}
