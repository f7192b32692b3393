package frontend

import (
	"testing"

	"google.golang.org/grpc/mem"
)

// gRPC clears a whole buffer for each message. A buffer is at most twice as long as its content.
func TestBuffersFit(t *testing.T) {
	t.Parallel()
	for _, size := range []int{20_000, 40_000, 80_010, 200_000, 300_000, 1 << 20} {
		pool := mem.DefaultBufferPool()
		buf := pool.Get(size)
		if len(*buf) != size || cap(*buf) > 2*size {
			t.Errorf("a buffer for %d bytes has %d of %d", size, len(*buf), cap(*buf))
		}
		pool.Put(buf)
	}
}
