package load

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serveTLS calls serve for each TLS connection, and returns the address and the configuration for clients.
func serveTLS(t *testing.T, serve func(net.Conn)) (string, *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil) // source of a certificate
	s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", s.TLS)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	client := s.Client().Transport.(*http.Transport).TLSClientConfig
	return l.Addr().String(), client
}

func TestRedisSendsTokenFirstOverTLS(t *testing.T) {
	t.Parallel()
	address, config := serveTLS(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		var words []string
		for range 5 { // lines of AUTH and its argument
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			words = append(words, strings.TrimSpace(line))
		}
		if words[2] != "AUTH" || words[4] != "good" {
			_, _ = fmt.Fprint(conn, "-WRONGPASS no\r\n")
			return
		}
		_, _ = fmt.Fprint(conn, "+OK\r\n")
		if _, err := in.ReadString('\n'); err == nil {
			_, _ = fmt.Fprint(conn, ":7\r\n")
		}
	})
	for token, want := range map[string]string{"good": "", "bad": "WRONGPASS"} {
		c := NewRedis(address, "key", 1, time.Minute, Access{TLS: config, Token: token})
		err := c.Call(t.Context(), &Receipt{})
		c.Close()
		refused, _ := errors.AsType[*Refusal](err)
		if want == "" && err != nil || want != "" && (refused == nil || refused.Reason != want) {
			t.Errorf("%s: %v", token, err)
		}
	}
}

func TestHTTPSendsTokenOverTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = fmt.Fprintln(w, 1)
	}))
	t.Cleanup(s.Close)
	config := s.Client().Transport.(*http.Transport).TLSClientConfig
	c := NewHTTP(s.Listener.Addr().String(), http.MethodGet, "/id", 1, time.Minute, Access{TLS: config, Token: "good"})
	defer c.Close()
	if err := c.Call(t.Context(), &Receipt{}); err != nil {
		t.Error(err)
	}
}
