package frontend

import (
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// gRPC has buffers of a few sizes and clears a whole buffer for each message. Its default pool has no size between 32 KiB and
// 1 MiB. For the 80 kB of 10,000 packed IDs, gRPC would clear 1 MiB on both sides, which takes longer than all its other work
// for such an answer. The pool belongs to the process, not to a server; only the program imports package server.
func init() {
	const kib = 1 << 10
	experimental.SetDefaultBufferPool(mem.NewTieredBufferPool(
		256, 2*kib, 4*kib, 16*kib, 32*kib, 64*kib, 128*kib, 256*kib, 512*kib, 1024*kib))
}
