package redis_test

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
)

// BenchmarkIncr is one client on loopback, a backend in memory, pipelines of some
// length: the cost of an INCR but for what the cluster does.
func BenchmarkIncr(b *testing.B) {
	for _, length := range []int{1, 16} {
		b.Run(strconv.Itoa(length), func(b *testing.B) {
			f := &fake{}
			f.add("orders", 100_000_000, 1, -1, true) // so that all answers are as long
			_, addr := start(b, redis.Config{Backend: f})
			c := dial(b, addr)
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
