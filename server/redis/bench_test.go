package redis_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/redis"
)

// BenchmarkIncr has one client on loopback, a backend in memory, and pipelines of several lengths. It measures the cost of an
// INCR without the work of the cluster.
func BenchmarkIncr(b *testing.B) {
	benchIncr(b, func(b *testing.B, cfg redis.Config) net.Conn {
		_, addr := start(b, cfg)
		return dial(b, addr)
	})
}

// BenchmarkIncrTLS measures the same over TLS.
func BenchmarkIncrTLS(b *testing.B) {
	benchIncr(b, func(b *testing.B, cfg redis.Config) net.Conn {
		addr, config := startTLS(b, cfg, slots.New(100, 100))
		return dialTLS(b, addr, config)
	})
}

func benchIncr(b *testing.B, connect func(*testing.B, redis.Config) net.Conn) {
	for _, length := range []int{1, 16} {
		b.Run(strconv.Itoa(length), func(b *testing.B) {
			f := &fake{}
			f.add("orders", 100_000_000, 1, -1, true) // all answers have equal length
			c := connect(b, redis.Config{Backend: f})
			in := []byte(strings.Repeat("*2\r\n$4\r\nINCR\r\n$6\r\norders\r\n", length))
			out := make([]byte, length*len(":100000000\r\n"))
			b.ReportAllocs()
			for range b.N/length + 1 {
				if _, err := c.Write(in); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
