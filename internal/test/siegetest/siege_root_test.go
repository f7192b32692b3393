//go:build root && linux

package siegetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/snowraft/snowraft/client"
)

var length = flag.Duration("siege.length", time.Minute, "duration of the siege")

// honest counts calls of clients with a token.
type honest struct{ calls, failed atomic.Int64 }

// run calls until ctx ends. A fresh client connects for each call.
func (h *honest) run(ctx context.Context, m *member, fresh bool) {
	var c *client.Client
	for ctx.Err() == nil {
		err := error(nil)
		if c == nil {
			c, err = client.New([]string{m.api}, client.WithToken(m.token))
		}
		if err == nil {
			call, cancel := context.WithTimeout(ctx, 30*time.Second) // on a busy machine, attackers take its processors
			_, err = c.NextID(call)
			cancel()
		}
		if ctx.Err() != nil {
			break
		}
		h.calls.Add(1)
		if err != nil && h.failed.Add(1) <= 5 {
			m.Logf("an honest call: %v", err)
		}
		if fresh && c != nil {
			_ = c.Close()
			c = nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if c != nil {
		_ = c.Close()
	}
}

// An attack uses one connection of a stranger until it ends.
type attack struct {
	name    string
	conns   int // at a time
	address func(m *member) string
	alpn    string // none: clear bytes on the connection
	run     func(c net.Conn) error
}

func api(m *member) string   { return m.api }
func web(m *member) string   { return m.http }
func redis(m *member) string { return m.redis }

var attacks = []attack{
	{"health checks whose answers have no window", 60, api, "h2", func(c net.Conn) error { return errors.Join(calls(c, 1000, true), closed(c)) }},
	{"calls without the end of their message", 60, api, "h2", func(c net.Conn) error { return errors.Join(calls(c, 1000, false), closed(c)) }},
	{"metrics that are not read", 400, web, "http/1.1", func(c net.Conn) error {
		_, err := io.WriteString(c, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: m1\r\nAccept-Encoding: gzip\r\n\r\n", 50))
		return errors.Join(err, closed(c))
	}},
	{"forms of many keys", 100, web, "http/1.1", func(c net.Conn) error {
		form := strings.Repeat("abcdef&", 9300)
		_, err := fmt.Fprintf(c, "POST /tinyid/id/nextId HTTP/1.1\r\nHost: m1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(form)+1, form)
		return errors.Join(err, closed(c))
	}},
	{"bodies without an end", 200, web, "http/1.1", func(c net.Conn) error {
		_, err := fmt.Fprintf(c, "POST /v1/ids:generate HTTP/1.1\r\nHost: m1\r\nContent-Length: 65000\r\n\r\n%s", strings.Repeat(" ", 64_000))
		return errors.Join(err, closed(c))
	}},
	{"commands without an end", 200, redis, "redis", func(c net.Conn) error {
		_, err := fmt.Fprintf(c, "*2\r\n$4\r\nECHO\r\n$65000\r\n%s", strings.Repeat(" ", 60_000))
		return errors.Join(err, closed(c))
	}},
	{"silent connections", 500, api, "h2", closed},
	{"handshakes without an end", 200, api, "", func(c net.Conn) error {
		// A record of a handshake message of 239 KB, of which the end does not come.
		hello := append([]byte{1, 3, 0xa5, 0x98}, make([]byte, 200_000)...)
		for len(hello) > 0 {
			part := hello[:min(len(hello), 16<<10)]
			hello = hello[len(part):]
			record := append([]byte{0x16, 3, 1, byte(len(part) >> 8), byte(len(part))}, part...)
			if _, err := c.Write(record); err != nil {
				return err
			}
		}
		return closed(c)
	}},
}

// closed waits until the member closes the connection, and reads no more than a few bytes.
func closed(c net.Conn) error {
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := io.CopyN(io.Discard, c, 1<<10)
	if err == nil {
		<-time.After(20 * time.Second)
	}
	return err
}

// calls begins calls on a connection without a window for answers: health checks, or calls with a message that is not whole.
func calls(c net.Conn, count uint32, whole bool) error {
	to := bufio.NewWriter(c)
	_, _ = to.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(to, nil)
	var block bytes.Buffer
	fields := hpack.NewEncoder(&block)
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "m1"},
		{Name: ":path", Value: grpc_health_v1.Health_Check_FullMethodName}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	} {
		_ = fields.WriteField(f)
	}
	err := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	message, end := make([]byte, 5), true
	if !whole {
		message, end = append([]byte{0, 0, 0, 0xff, 0xff}, make([]byte, 16_000)...), false
	}
	for i := uint32(0); i < count && err == nil; i++ {
		err = errors.Join(
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: block.Bytes(), EndHeaders: true}),
			framer.WriteData(2*i+1, end, message))
	}
	return errors.Join(err, to.Flush())
}

// lay lets a number of connections of an attack run until ctx ends.
func (a attack) lay(ctx context.Context, m *member, all *sync.WaitGroup, made *atomic.Int64) {
	for range a.conns {
		all.Go(func() {
			for ctx.Err() == nil {
				raw, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", a.address(m))
				if err != nil {
					select {
					case <-time.After(50 * time.Millisecond):
					case <-ctx.Done():
					}
					continue
				}
				stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
				c := raw
				if a.alpn != "" {
					c = tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{a.alpn}})
				}
				made.Add(1)
				_ = a.run(c)
				stop()
				_ = raw.Close()
				select { // a flood that uses up the processors is not the subject
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
		})
	}
}

// A minute of attackers without a token neither ends the member nor keeps honest clients from their answers.
func TestSiege(t *testing.T) {
	const gogc = "400" // the Helm chart sets it too
	m := start(t, gogc)
	ctx, cancel := context.WithTimeout(t.Context(), *length)
	defer cancel()
	var all sync.WaitGroup
	made := make([]atomic.Int64, len(attacks))
	for i, a := range attacks {
		a.lay(ctx, m, &all, &made[i])
	}
	var h honest
	for i := range 4 {
		all.Go(func() { h.run(ctx, m, i == 0) })
	}
	select {
	case <-m.died:
		t.Error("the member died")
	case <-ctx.Done():
	}
	cancel()
	all.Wait()
	for i, a := range attacks {
		t.Logf("%d connections: %s", made[i].Load(), a.name)
		if made[i].Load() < int64(a.conns) {
			t.Errorf("%s: few connections", a.name)
		}
	}
	peak, _ := os.ReadFile(m.usage)
	t.Logf("%d honest calls, %d failed; peak of memory %s bytes", h.calls.Load(), h.failed.Load(), bytes.TrimSpace(peak))
	if calls, failed := h.calls.Load(), h.failed.Load(); calls < 20 || failed*100 > calls {
		t.Errorf("%d of %d honest calls failed, want at most 1 %%", failed, calls)
	}
	if !m.alive() {
		t.Error("another process would serve now")
	}
}
