package frontend

import (
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// gRPC keeps buffers of a few sizes and clears a whole one for each message. Between 32 KiB
// and 1 MiB it has none, so that it would clear 1 MiB for the 80 kB of 10,000 packed IDs, on
// either side, which takes longer than all else that it does for them. It writes messages with
// the buffers of the process and not of a server; package server is the program's.
func init() {
	const kib = 1 << 10
	experimental.SetDefaultBufferPool(mem.NewTieredBufferPool(
		256, 4*kib, 16*kib, 32*kib, 64*kib, 128*kib, 256*kib, 512*kib, 1024*kib))
}
