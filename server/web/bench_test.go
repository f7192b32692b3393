package web_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/server/web"
)

// constant is a backend that costs nothing, so that benchmarks measure only the handler.
type constant struct{}

func (constant) Next(context.Context, string, uint64) (first, increment int64, err error) {
	return 1234567, 1, nil
}

func (constant) AppendNext(_ context.Context, dst []byte, _ io.Writer, _ string, _ uint64, _ string) ([]byte, error) {
	return append(dst, "1234567\n"...), nil
}

func (constant) AppendIDs(_ context.Context, dst []byte, _ io.Writer, _ string, _ uint32) ([]byte, error) {
	return append(strconv.AppendUint(dst, 1234567, 10), '\n'), nil
}

// pipelined is the number of requests that are sent at once, so that the benchmark measures the server and not the round trip.
const pipelined = 64

// pipeline is a connection that sends the same request many times.
type pipeline struct {
	conn     net.Conn
	requests []byte
	answers  []byte // buffer for all answers, which have the same length
}

func newPipeline(b *testing.B, handler http.Handler, method, path string) *pipeline {
	b.Helper()
	s := httptest.NewServer(handler)
	b.Cleanup(s.Close)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	request := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		b.Fatal(err)
	}
	one := make([]byte, 4096)
	n, err := conn.Read(one)
	if err != nil || !strings.HasPrefix(string(one[:n]), "HTTP/1.1 200") || !strings.Contains(string(one[:n]), "1234567") {
		b.Fatalf("%q, %v", one[:n], err)
	}
	return &pipeline{conn, bytes.Repeat([]byte(request), pipelined), make([]byte, n*pipelined)}
}

func (p *pipeline) ask(b *testing.B) time.Duration {
	began := time.Now()
	if _, err := p.conn.Write(p.requests); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(p.conn, p.answers); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

// BenchmarkText compares the plain paths with a handler that prints a constant. It measures both in turns, so that the machine's
// other work affects both.
func BenchmarkText(b *testing.B) {
	r := newRig(b, func(c *web.Config) {
		c.Backend, c.Served = constant{}, func(context.Context, string, error, time.Duration) {}
	})
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "1234567\n") })
	for _, c := range []struct{ name, method, path string }{
		{"id", "GET", "/id"},
		{"idLayout", "GET", "/id?count=1&layout=default"},
		{"seq", "POST", "/seq/orders"},
		{"segment", "GET", "/api/segment/get/orders"},
		{"nextId", "GET", "/tinyid/id/nextId?bizType=orders"},
	} {
		b.Run(c.name, func(b *testing.B) {
			one, other := newPipeline(b, bare, c.method, c.path), newPipeline(b, r.handler, c.method, c.path)
			var bareTook, took time.Duration
			for b.Loop() {
				bareTook += one.ask(b)
				took += other.ask(b)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*pipelined), "ns/request")
			b.ReportMetric(float64(bareTook)/float64(took), "of-bare-rate")
		})
	}
}
