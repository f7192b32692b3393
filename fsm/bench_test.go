package fsm

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// crowd returns a state with a layout of 2^22 workers, of which a number were granted.
func crowd(b *testing.B, used int) *log {
	spec := tiny
	spec.Fields = []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 31}, {Field: snowflake.FieldWorker, Bits: 22}, {Field: snowflake.FieldSequence, Bits: 10},
	}
	l := newLog(b, spec)
	for i := range used {
		l.must(at(epoch+int64(i%1000)*10, acquire(fmt.Sprintf("holder-%d/0", i), 600_000)))
	}
	return l
}

func BenchmarkAcquire(b *testing.B) {
	l := crowd(b, 1<<22)
	cmds := make([]*commandv1.Command, 1024)
	for i := range cmds {
		cmds[i] = acquire(fmt.Sprintf("new-%d/0", i), 600_000)
	}
	now := epoch + 700_000
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now += 10
		l.must(at(now, cmds[i%len(cmds)]))
	}
}

func BenchmarkExtend(b *testing.B) {
	l := crowd(b, 1<<22-1)
	now := epoch + 10_000
	g := l.must(at(now, acquire("a/0", 1000))).Grant
	cmd := extend(g, nonceHash('a'), g.Until, 600_000)
	b.ReportAllocs()
	for b.Loop() {
		now += 10
		cmd.GetExtendWindow().UntilTick = l.must(at(now, cmd)).Grant.Until
	}
}

func BenchmarkSnapshotWrite(b *testing.B) {
	l := crowd(b, 1_000_000)
	for b.Loop() {
		n, err := l.WriteTo(io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}

// BenchmarkSnapshotCopy measures the time that commands wait for a snapshot.
func BenchmarkSnapshotCopy(b *testing.B) {
	l := crowd(b, 1_000_000)
	for b.Loop() {
		l.imageAlone()
	}
}

func BenchmarkSnapshotRead(b *testing.B) {
	data := snapshotBytes(b, crowd(b, 1_000_000).State)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ReadState(bytes.NewReader(data), Version); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	l := crowd(b, 1_000_000)
	for b.Loop() {
		l.Digest()
	}
}

func BenchmarkDecode(b *testing.B) {
	data, err := Encode(at(epoch, acquire("holder-a/0", 600_000)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
