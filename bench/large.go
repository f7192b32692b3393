package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/snowflake"
)

const (
	largeSequences = 100_000
	largeWorkers   = 10_000
)

// backupEnded returns the time at which the cluster of the large backup stopped: so long ago that a restored cluster issues
// at once.
func backupEnded() time.Time { return wall().Add(-time.Hour) }

// stateOf returns the state after commands, which have the indexes from 1 on. index is the last one. Commands without a clock get the
// time at.
func stateOf(at time.Time, commands iter.Seq[*commandv1.Command]) (state *fsm.State, index uint64, err error) {
	state = fsm.NewState()
	for cmd := range commands {
		index++
		cmd.ClockAtMs = cmp.Or(cmd.GetClockAtMs(), at.UnixMilli())
		if err := state.Apply(index, 2, cmd).Failure(); err != nil {
			return nil, 0, err
		}
	}
	return state, index, nil
}

// writeBackup writes a backup of a cluster with the state after commands.
func (e *env) writeBackup(commands iter.Seq[*commandv1.Command]) (path string, err error) {
	at := backupEnded().Add(-time.Hour)
	state, index, err := stateOf(at, commands)
	if err != nil {
		return "", err
	}
	taken := at.UnixMilli()
	path = filepath.Join(e.dir, fmt.Sprintf("%d.backup", index))
	return path, backup.Create(path, func(f *os.File) error {
		return backup.Write(f, &commandv1.BackupHeader{
			ClusterId: "50d28448-6dfe-4a73-ab47-6105a27ac055", Index: index, Term: 2, TakenAtMs: taken,
			MaxWindowMs: state.Config().GetMaxWindowMs(), MaxClockOffsetMs: state.Config().GetMaxClockOffsetMs(),
			Source: commandv1.BackupSource_BACKUP_SOURCE_MEMBER,
		}, state)
	})
}

// largeCommands yields the commands that create the given numbers of workers and relaxed sequences, and a strict sequence.
func largeCommands(workers, sequences int) iter.Seq[*commandv1.Command] {
	wide := snowflake.Spec{
		Name: "large", UnitMillis: 1, EpochMillis: snowflake.Default().Spec().EpochMillis,
		Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 41}, {Field: snowflake.FieldWorker, Bits: 17}, {Field: snowflake.FieldSequence, Bits: 5}},
	}
	return func(yield func(*commandv1.Command) bool) {
		more := yield(&commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: fsm.DefaultConfig()}}})
		for _, spec := range []snowflake.Spec{snowflake.Default().Spec(), wide} {
			more = more && yield(&commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(spec)}}})
		}
		for i := uint64(0); more && i < uint64(workers); i++ { //nolint:gosec // never negative
			more = yield(&commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
				Layout: wide.Name, Holder: fmt.Sprint("app-", i), NonceHash: binary.BigEndian.AppendUint64(make([]byte, 24), i), WindowMs: time.Minute.Milliseconds(),
			}}})
		}
		more = more && yield(createSequence(invoices, commandv1.SequenceMode_SEQUENCE_MODE_STRICT))
		for i := 0; more && i < sequences; i++ {
			more = yield(createSequence(fmt.Sprintf("shop/%d/orders", i), commandv1.SequenceMode_SEQUENCE_MODE_RELAXED))
		}
	}
}

func createSequence(name string, mode commandv1.SequenceMode) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: &commandv1.SequenceSpec{
		Name: name, Mode: mode, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
		Start: 1, Increment: 1, Min: 1, Max: 1 << 40, BlockDurationMs: 1000, MinBlock: 1, MaxBlock: 1000,
	}}}}
}
