package web_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server/web"
)

// constant is a backend that costs nothing, so that what is measured is the face.
type constant struct{}

func (constant) Next(context.Context, string, uint64) (first, increment int64, err error) {
	return 1234567, 1, nil
}

func (constant) AppendNext(_ context.Context, dst []byte, _ string, _ uint64) ([]byte, error) {
	return append(dst, "1234567\n"...), nil
}

func (constant) Ids(_ context.Context, dst []uint64, _ string, _ uint32) ([]uint64, error) {
	return append(dst, 1234567), nil
}

// BenchmarkText compares the plain paths with a handler that prints a constant,
// each over connections that are kept.
func BenchmarkText(b *testing.B) {
	r := newRig(b, func(c *web.Config) { c.Backend, c.Served = constant{}, nil })
	for _, c := range []struct {
		name, path string
		handler    http.Handler
	}{
		{"bare", "/id", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "1234567\n") })},
		{"id", "/id", r.handler},
		{"idLayout", "/id?n=1&layout=default", r.handler},
		{"seq", "/seq/orders", r.handler},
		{"segment", "/api/segment/get/orders", r.handler},
		{"nextId", "/tinyid/id/nextId?bizType=orders", r.handler},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			request := "GET " + c.path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
				if err != nil {
					b.Error(err)
					return
				}
				defer conn.Close()
				in := bufio.NewReader(conn)
				for pb.Next() {
					if _, err := io.WriteString(conn, request); err != nil {
						b.Error(err)
						return
					}
					resp, err := http.ReadResponse(in, nil)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		})
	}
}
