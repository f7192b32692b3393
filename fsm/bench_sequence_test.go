package fsm

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const manySequences = 100_000

// sequenceEntries returns the log entries that create a number of sequences.
func sequenceEntries(t testing.TB, n int, changes ...func(int, *commandv1.SequenceSpec)) []*raft.Log {
	var logs []*raft.Log
	for i := range n {
		spec := plain(fmt.Sprintf("shop/%d/orders", i), func(s *commandv1.SequenceSpec) { s.Format = "ORD{seq:08}" })
		for _, change := range changes {
			change(i, spec)
		}
		cmd := create(spec, 0)
		logs = append(logs, entryAt(t, uint64(i+1), at(epoch, cmd)))
	}
	return logs
}

func manySequencesIn(t testing.TB, logs []*raft.Log) *Machine {
	m := New(Options{})
	for _, entry := range logs {
		if r := m.Apply(entry).(Result); r.Failure() != nil {
			t.Fatal(r.Failure())
		}
	}
	return m
}

func BenchmarkCreateSequences(b *testing.B) {
	logs := sequenceEntries(b, manySequences)
	b.ResetTimer()
	for b.Loop() {
		manySequencesIn(b, logs)
	}
}

// BenchmarkAllocateBlock applies log entries, decoding included.
func BenchmarkAllocateBlock(b *testing.B) {
	for _, id := range []bool{false, true} {
		b.Run(fmt.Sprint("id=", id), func(b *testing.B) {
			m := manySequencesIn(b, sequenceEntries(b, manySequences))
			index := uint64(manySequences + 1)
			m.Apply(entryAt(b, index, raise(Version)))
			const clocks = 1000
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				index++
				n := i * 7919 % manySequences
				cmd := at(epoch, allocate(fmt.Sprintf("shop/%d/orders", n), uint64(n+1), 1000, 0))
				if id {
					withID(cmd, fmt.Sprint("request-", i))
				}
				if i%clocks == 0 {
					cmd = at(epoch+int64(i)*4, observe(false)) // moves the clock, so that answers expire as fast as new ones come
				}
				b.StopTimer()
				entry := entryAt(b, index, cmd)
				b.StartTimer()
				if r := m.Apply(entry).(Result); r.Failure() != nil {
					b.Fatal(r.Failure())
				}
			}
		})
	}
}

// BenchmarkSequenceStamp measures the work of a member for a number after a change.
func BenchmarkSequenceStamp(b *testing.B) {
	m := manySequencesIn(b, sequenceEntries(b, manySequences))
	for b.Loop() {
		m.SequenceStamp("shop/4711/orders")
	}
}

func BenchmarkSequencePage(b *testing.B) {
	m := manySequencesIn(b, sequenceEntries(b, manySequences))
	for b.Loop() {
		m.View(func(s *State) { s.Sequences("shop/4", "shop/", 1000) })
	}
}

// BenchmarkSequenceSnapshot measures the time that commands wait for a snapshot of
// 100,000 sequences, the time to write it and to read it, and the time of a digest.
func BenchmarkSequenceSnapshot(b *testing.B) {
	m := manySequencesIn(b, sequenceEntries(b, manySequences))
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Snapshot(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			n, err := m.state.WriteTo(io.Discard)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(n)
		}
	})
	data := snapshotBytes(b, m.state)
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := ReadState(bytes.NewReader(data), Version); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("digest", func(b *testing.B) {
		for b.Loop() {
			m.state.Digest()
		}
	})
}

// TestIdleSequenceMemory bounds the cost of a sequence that no client uses.
func TestIdleSequenceMemory(t *testing.T) {
	const n = 20_000
	for name, entries := range map[string][]*raft.Log{
		"alike":     sequenceEntries(t, n),
		"different": sequenceEntries(t, n, func(i int, s *commandv1.SequenceSpec) { s.Description = fmt.Sprint("number ", i) }),
	} {
		before := heap()
		m := manySequencesIn(t, entries)
		created := (heap() - before) / n
		data := snapshotBytes(t, m.state)
		m = New(Options{})
		before = heap()
		if err := m.Restore(readerOf(data)); err != nil {
			t.Fatal(err)
		}
		restored := (heap() - before) / n
		t.Logf("%s: %d bytes a sequence after creating %d, %d after a restart, %d in the snapshot", name, created, n, restored, len(data)/n)
		if max(created, restored) > 440 {
			t.Errorf("%s: want at most 440", name)
		}
		runtime.KeepAlive(m)
		runtime.KeepAlive(data)
		runtime.KeepAlive(entries)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
