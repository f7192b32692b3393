package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pages is a server that answers every request with an HTML page.
func pages(f *fakes, status int, http2 bool) string {
	listener, addr := f.listen("127.0.0.1:0")
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
	f.t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return addr
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
			synctest.Test(t, func(t *testing.T) {
				f := startFakes(t, 0)
				addr := pages(f, c.status, c.http2)
				_, err := f.client([]string{addr}).NextID(within(t, time.Second))
				if _, ok := errors.AsType[*Error](err); !ok {
					t.Fatal(err)
				}
				if text := err.Error(); !strings.Contains(text, c.says) || !strings.Contains(text, addr) || strings.Contains(text, "desc =") || len(text) > 300 {
					t.Error(text)
				}
				t.Log(err)
				member := f.add("127.0.0.1:0")
				askAll(t, f.client([]string{addr, member.addr}), 2, 20)
			})
		})
	}
}

// The client skips an endpoint that accepts connections and never answers.
func TestSilentEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		silent := f.silent()
		c := f.client([]string{silent, f.members[0].addr})
		if slowest := askAll(t, c, 4, 20); slowest != 0 {
			t.Errorf("the slowest call took %v", slowest)
		}
		_, err := f.client([]string{silent}).NextID(within(t, time.Second))
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), silent) {
			t.Error(err)
		}
		t.Log(err)
	})
}
