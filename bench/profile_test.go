package main

import (
	"maps"
	"testing"
)

func TestProfileParts(t *testing.T) {
	t.Parallel()
	const traces = `File: server.test
Type: cpu
Duration: 12.94s, Total samples = 4240ms (32.77%)
-----------+-------------------------------------------------------
      10ms   internal/runtime/syscall/linux.Syscall6
             syscall.RawSyscall6
             google.golang.org/grpc/internal/transport.(*bufWriter).Flush
-----------+-------------------------------------------------------
     320ms   runtime.unlock2
             runtime.unlock (inline)
             runtime.schedule
             runtime.mcall
-----------+-------------------------------------------------------
      20ms   runtime.nextFreeFast (inline)
             runtime.mallocgc
             google.golang.org/protobuf/proto.MarshalOptions.marshal
-----------+-------------------------------------------------------
      30ms   runtime.memmove
             google.golang.org/protobuf/internal/impl.(*MessageInfo).unmarshal
             google.golang.org/grpc.(*Server).processUnaryRPC
-----------+-------------------------------------------------------
      40ms   internal/sync.(*Mutex).Lock (inline)
             sync.(*Mutex).Lock (inline)
             google.golang.org/grpc/internal/transport.(*http2Server).operateHeaders
-----------+-------------------------------------------------------
      50ms   time.Now
             github.com/snowraft/snowraft/allocator.(*lane).take
             google.golang.org/grpc.(*Server).processUnaryRPC
-----------+-------------------------------------------------------
      60ms   runtime.adjustframe
             runtime.copystack
             runtime.newstack
             google.golang.org/grpc.(*Server).handleStream
-----------+-------------------------------------------------------
     0.5ms   sort.Slice
             github.com/hashicorp/raft.(*Raft).run
-----------+-------------------------------------------------------
       5ms   internal/runtime/syscall/linux.Syscall6
`
	got, err := byPart(traces)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		partSyscalls: 15, partScheduler: 320, partMemory: 20, partProtobuf: 30, partGRPC: 40, partOurs: 50, partStacks: 60, partRest: 0.5,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(want) != len(parts) {
		t.Errorf("the table has %d parts, want %d", len(parts), len(want))
	}
	for _, text := range []string{"", "File: x\n", "-----------+---\n  some text\n", "-----------+---\n      10s   main.main\n"} {
		if got, err := byPart(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

func TestProfileTable(t *testing.T) {
	t.Parallel()
	empty := &serving{calls: 1000, times: map[string]float64{partGRPC: 15, partSyscalls: 5}}
	member := &serving{calls: 2000, times: map[string]float64{partGRPC: 30, partOurs: 10}}
	table := profileTable(empty, member)
	for at, want := range map[int][]string{
		1:          {partGRPC, "15 µs", "75 %", "15 µs", "75 %"},
		6:          {partOurs, "0 ns", "0 %", "5.0 µs", "25 %"},
		len(parts): {"total", "20 µs", "100 %", "20 µs", "100 %"},
	} {
		for i, cell := range table.rows[at] {
			if cell != want[i] {
				t.Errorf("row %d: %q, want %q", at, table.rows[at], want)
				break
			}
		}
	}
}
