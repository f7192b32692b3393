package backup_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/snowflake"
)

const (
	benchSequences = 100_000
	benchWorkers   = 10_000
)

// large returns a machine with 100,000 sequences and 10,000 workers.
var large = sync.OnceValues(func() (*fsm.Machine, error) {
	m := fsm.New(fsm.Options{})
	index, now := uint64(0), int64(1_795_403_000_000)
	apply := func(cmd *commandv1.Command) error {
		index++
		cmd.ClockAtMs = now
		data, err := fsm.Encode(cmd)
		if err != nil {
			return err
		}
		result, _ := m.Apply(&raft.Log{Index: index, Term: 2, Type: raft.LogCommand, Data: data}).(fsm.Result)
		return result.Failure()
	}
	spec := snowflake.Spec{
		Name: "large", UnitMillis: 1, EpochMillis: snowflake.Default().Spec().EpochMillis,
		Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 41}, {Field: snowflake.FieldWorker, Bits: 14}, {Field: snowflake.FieldSequence, Bits: 8}},
	}
	if err := apply(&commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(spec)}}}); err != nil {
		return nil, err
	}
	for i := range benchWorkers {
		nonce := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 16)
		if err := apply(&commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
			Layout: "large", Holder: fmt.Sprintf("app-%d", i), NonceHash: nonce, WindowMs: 60_000,
		}}}); err != nil {
			return nil, err
		}
	}
	for i := range benchSequences {
		name := fmt.Sprintf("shop/%d/orders", i)
		if err := apply(&commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: &commandv1.SequenceSpec{
			Name: name, Mode: commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
			Start: 1, Increment: 1, Min: 1, Max: 1 << 40, BlockDurationMs: 1000, MinBlock: 1, MaxBlock: 1000,
		}}}}); err != nil {
			return nil, err
		}
	}
	return m, nil
})

func largeMachine(b *testing.B) *fsm.Machine {
	b.Helper()
	m, err := large()
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// BenchmarkCapture measures how long commands and readers of a member wait for a backup.
func BenchmarkCapture(b *testing.B) {
	m := largeMachine(b)
	for b.Loop() {
		if _, err := m.Capture(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite measures a backup on the member that sends it.
func BenchmarkWrite(b *testing.B) {
	m := largeMachine(b)
	var file bytes.Buffer
	for b.Loop() {
		file.Reset()
		state, err := m.Capture()
		if err == nil {
			err = backup.Write(&file, header(), state)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(file.Len()), "bytes/backup")
}

// BenchmarkRestore measures a restore, from the file to the directory of a member.
func BenchmarkRestore(b *testing.B) {
	m := largeMachine(b)
	state, err := m.Capture()
	if err != nil {
		b.Fatal(err)
	}
	h := header()
	h.Index = state.Index
	var file bytes.Buffer
	if err := backup.Write(&file, h, state); err != nil {
		b.Fatal(err)
	}
	now := time.UnixMilli(1_795_403_100_000).UnixMilli()
	i := 0
	for b.Loop() {
		read, err := backup.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), fsm.Version)
		if err != nil {
			b.Fatal(err)
		}
		i++
		if _, err := (backup.Restore{NowMillis: now, OldEndedMillis: now}).Into(filepath.Join(b.TempDir(), fmt.Sprint(i)), read); err != nil {
			b.Fatal(err)
		}
	}
}
