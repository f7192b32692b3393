package check

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

// worldEpoch is tick 0 of worldSpec.
const worldEpoch = int64(1_735_689_600_000)

// worldSpec is a layout with two workers and a tick of 10 ms.
var worldSpec = snowflake.Spec{
	Name: "tiny", UnitMillis: 10, EpochMillis: worldEpoch, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 4},
	},
}

// world is a run made by a test: a log, a journal and IDs.
type world struct {
	t       *testing.T
	dir     string
	layout  *snowflake.Layout
	state   *fsm.State
	logs    []*raft.Log
	term    uint64
	journal *history.Journal
	ids     *history.Writer

	snapshotAt uint64 // 0 for none
	snapshot   []byte
}

// memorySink holds the content of a snapshot.
type memorySink struct{ bytes.Buffer }

func (*memorySink) ID() string    { return "" }
func (*memorySink) Cancel() error { return nil }
func (*memorySink) Close() error  { return nil }

// takeSnapshot takes a snapshot of the present log with the members' code.
func (w *world) takeSnapshot() {
	m := fsm.New(fsm.Options{})
	for _, l := range w.logs {
		m.Apply(l)
	}
	snapshot, err := m.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	var content memorySink
	if err := snapshot.Persist(&content); err != nil {
		w.t.Fatal(err)
	}
	w.snapshotAt, w.snapshot = uint64(len(w.logs)), content.Bytes()
}

// writeSnapshot writes the snapshot to a data directory in the members' format.
func (w *world) writeSnapshot(dir string) {
	store, err := raft.NewFileSnapshotStore(dir, 2, io.Discard)
	if err != nil {
		w.t.Fatal(err)
	}
	_, trans := raft.NewInmemTransport("")
	sink, err := store.Create(1, w.snapshotAt, w.term, raft.Configuration{}, 1, trans)
	if err != nil {
		w.t.Fatal(err)
	}
	head := fmt.Appendf(nil, "%d %d 1", w.snapshotAt, w.term)
	if _, err := sink.Write(binary.BigEndian.AppendUint32(nil, crc32.Checksum(head, crc32.MakeTable(crc32.Castagnoli)))); err != nil {
		w.t.Fatal(err)
	}
	if _, err := sink.Write(w.snapshot); err != nil {
		w.t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldIn(t, t.TempDir())
}

// newWorldIn returns a world whose run is in dir, which must be empty.
func newWorldIn(t *testing.T, dir string) *world {
	t.Helper()
	w := &world{t: t, dir: dir, layout: snowflake.MustNew(worldSpec), state: fsm.NewState(), term: 1}
	var err error
	if w.journal, err = history.Create(w.dir); err != nil {
		t.Fatal(err)
	}
	if w.ids, err = history.CreateIDs(w.dir, worldSpec.Name, 0); err != nil {
		t.Fatal(err)
	}
	w.line(history.Line{Run: &history.Run{Members: []string{"n1", "n2", "n3"}}})
	l := &history.Layout{Name: worldSpec.Name, UnitMillis: worldSpec.UnitMillis, EpochMillis: worldSpec.EpochMillis}
	for _, f := range worldSpec.Fields {
		l.Fields = append(l.Fields, history.Field{Kind: f.Field.String(), Bits: uint(f.Bits)})
	}
	w.line(history.Line{Layout: l})
	w.do(worldEpoch, &commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(worldSpec)}}})
	return w
}

func (w *world) line(l history.Line) { w.journal.Add(l) }

// process records the start of a process.
func (w *world) process(start uint32, member string, generator bool) {
	w.line(history.Line{Process: &history.Process{Start: start, Member: member, Generator: generator, At: int64(start)}})
}

// do appends a command to the log and applies it.
func (w *world) do(now int64, cmd *commandv1.Command) fsm.Result {
	w.t.Helper()
	cmd.ClockAtMs = now
	cmd.Version = max(cmd.GetVersion(), fsm.MinVersion(cmd))
	raw, err := fsm.Encode(cmd)
	if err != nil {
		w.t.Fatal(err)
	}
	w.append(raft.LogCommand, raw)
	return w.state.Apply(uint64(len(w.logs)), w.term, cmd)
}

func (w *world) append(kind raft.LogType, data []byte) {
	l := &raft.Log{Index: uint64(len(w.logs)) + 1, Term: w.term, Type: kind, Data: data}
	head := binary.BigEndian.AppendUint64(nil, l.Index)
	head = binary.BigEndian.AppendUint64(head, l.Term)
	head = append(append(head, byte(l.Type)), l.Data...)
	l.Extensions = binary.BigEndian.AppendUint32(nil, crc32.Checksum(head, crc32.MakeTable(crc32.Castagnoli)))
	w.logs = append(w.logs, l)
}

func worldNonce(b byte) []byte { return slices.Repeat([]byte{b}, 32) }

// acquire grants a window of one second, which is 100 ticks.
func (w *world) acquire(tick int64, holder string, nonce byte) fsm.Grant {
	w.t.Helper()
	r := w.do(w.layout.MillisAt(tick), &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
		Layout: worldSpec.Name, Holder: holder, NonceHash: worldNonce(nonce), WindowMs: 1000,
	}}})
	if r.Failure() != nil {
		w.t.Fatal(r.Failure())
	}
	return r.Grant
}

func (w *world) release(g fsm.Grant, nonce byte, next int64) {
	w.t.Helper()
	r := w.do(w.layout.MillisAt(next), &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: &commandv1.ReleaseWorker{
		Layout: worldSpec.Name, Worker: g.Worker, Token: g.Token, NonceHash: worldNonce(nonce), UntilTick: g.Until, NextTick: next,
	}}})
	if r.Failure() != nil {
		w.t.Fatal(r.Failure())
	}
}

func (w *world) extend(tick int64, g fsm.Grant, nonce byte) fsm.Result {
	return w.do(w.layout.MillisAt(tick), &commandv1.Command{Body: &commandv1.Command_ExtendWindow{ExtendWindow: &commandv1.ExtendWindow{
		Layout: worldSpec.Name, Worker: g.Worker, Token: g.Token, NonceHash: worldNonce(nonce), UntilTick: g.Until, WindowMs: 1000, ExtensionId: uint64(len(w.logs)),
	}}})
}

// issue records that a client received count IDs of a cell.
func (w *world) issue(start uint32, worker uint64, tick int64, sequence uint64, count uint32) {
	w.ids.Add(history.Issued{
		First: w.layout.Compose(tick, worker, sequence), Step: w.layout.Step(), Op: 1, Count: count, Start: start,
	})
}

// finish closes the journal and archives the log as the log of three members. It opens the run.
func (w *world) finish() (*Run, *raftlog.Log) {
	w.t.Helper()
	if err := w.journal.Close(); err != nil {
		w.t.Fatal(err)
	}
	if err := w.ids.Close(); err != nil {
		w.t.Fatal(err)
	}
	data := w.t.TempDir()
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(data, "raft.db"), NoSync: true})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := bolt.StoreLogs(w.logs); err != nil {
		w.t.Fatal(err)
	}
	if err := bolt.Close(); err != nil {
		w.t.Fatal(err)
	}
	if w.snapshotAt > 0 {
		w.writeSnapshot(data)
	}
	a, err := raftlog.Create(w.dir, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, member := range []string{"n1", "n2", "n3"} {
		if _, err := a.Harvest(member, 1000, data); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		w.t.Fatal(err)
	}
	r, err := Open(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	log, err := raftlog.Open(w.dir, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	return r, log
}

// failsIf returns Fail if wrong is true, and otherwise Pass.
func failsIf(wrong bool) Outcome {
	if wrong {
		return Fail
	}
	return Pass
}

// wantVerdict fails the test unless v has the outcome and a summary, and its first failure contains want. An empty want
// requires a verdict without failures.
func wantVerdict(t *testing.T, v Verdict, outcome Outcome, want string) {
	t.Helper()
	if v.Outcome != outcome || v.Summary == "" {
		t.Errorf("verdict = %+v, want %s", v, outcome)
	}
	if want == "" && len(v.Failures) > 0 || want != "" && (len(v.Failures) == 0 || !strings.Contains(v.Failures[0], want)) {
		t.Errorf("failures = %q, want the first to contain %q", v.Failures, want)
	}
}
