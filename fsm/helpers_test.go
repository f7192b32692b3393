package fsm

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const epoch = int64(1_735_689_600_000) // 2025-01-01T00:00:00Z

// tiny is a layout with two workers and a tick of 10 ms.
var tiny = snowflake.Spec{
	Name: "tiny", UnitMillis: 10, EpochMillis: epoch, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 4},
	},
}

// wide is a layout with a datacenter and many workers.
var wide = snowflake.Spec{
	Name: "default", UnitMillis: 1, EpochMillis: epoch, Datacenter: 3, Spread: 16, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 39}, {Field: snowflake.FieldDatacenter, Bits: 2},
		{Field: snowflake.FieldWorker, Bits: 10}, {Field: snowflake.FieldSequence, Bits: 12},
	},
}

// log applies commands one after the other, at the indexes 1, 2, 3 and so on.
type log struct {
	*State
	t     testing.TB
	index uint64
	term  uint64
}

// newLog returns a log whose state has the layouts of these specifications.
func newLog(t testing.TB, specs ...snowflake.Spec) *log {
	l := &log{State: NewState(), t: t}
	for _, spec := range specs {
		l.must(at(max(epoch, spec.EpochMillis), createLayout(spec)))
	}
	return l
}

func (l *log) do(cmd *commandv1.Command) Result {
	l.index++
	return l.Apply(l.index, l.term, cmd)
}

func (l *log) must(cmd *commandv1.Command) Result {
	l.t.Helper()
	r := l.do(cmd)
	if err := r.Failure(); err != nil {
		l.t.Fatalf("%v: %v", cmd, err)
	}
	return r
}

// facts is a digest of the state without its lineage, to which refused commands belong too.
func (l *log) facts() [32]byte {
	im := l.imageAlone()
	im.lineage = lineage{}
	im.meta.Index, im.meta.Hash = 0, nil
	return im.digest()
}

// refused applies a command and expects that the command is refused and changes nothing.
func (l *log) refused(reason commandv1.Refusal, cmd *commandv1.Command) *Refused {
	l.t.Helper()
	before := l.facts()
	r := l.do(cmd)
	if r.Err == nil || r.Err.Reason != reason || r.Err.Detail == "" {
		l.t.Fatalf("%v returned %+v (%v), want %v", cmd, r, r.Err, reason)
	}
	if l.facts() != before {
		l.t.Fatalf("%v was refused and changed the state", cmd)
	}
	return r.Err
}

func at(now int64, cmd *commandv1.Command) *commandv1.Command {
	cmd.ClockAtMs, cmd.Version = now, 1
	return cmd
}

func createLayout(spec snowflake.Spec) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: LayoutSpec(spec)}}}
}

func nonceHash(b byte) []byte { return bytes.Repeat([]byte{b}, hashBytes) }

// acquire requests a worker of the layout tiny; the nonce is made of the holder's
// first byte.
func acquire(holder string, windowMillis int64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
		Layout: "tiny", Holder: holder, NonceHash: nonceHash(holder[0]), WindowMs: windowMillis,
	}}}
}

// acquireWide is acquire for the layout wide.
func acquireWide(holder string, windowMillis int64) *commandv1.Command {
	cmd := acquire(holder, windowMillis)
	cmd.GetAcquireWorker().Layout = wide.Name
	return cmd
}

// drawnIDs is the number of extensions with an ID.
var drawnIDs atomic.Uint64

// extend is an extension under a new ID.
func extend(g Grant, n []byte, until, windowMillis int64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ExtendWindow{ExtendWindow: &commandv1.ExtendWindow{
		Layout: "tiny", Worker: g.Worker, Token: g.Token, NonceHash: n, UntilTick: until, WindowMs: windowMillis, ExtensionId: drawnIDs.Add(1),
	}}}
}

func release(g Grant, n []byte, next int64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: &commandv1.ReleaseWorker{
		Layout: "tiny", Worker: g.Worker, Token: g.Token, NonceHash: n, UntilTick: g.Until, NextTick: next,
	}}}
}

func observe(force bool) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{Force: force}}}
}

func setConfig(c *commandv1.Config, generation uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: c, Generation: generation}}}
}

func raise(version uint32) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: version}}}
}

func checkpoint(index uint64, digest []byte) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_Checkpoint{Checkpoint: &commandv1.Checkpoint{Index: index, Digest: digest}}}
}

func removeMember(id string) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_RemoveMember{RemoveMember: &commandv1.RemoveMember{Id: id}}}
}

// entryAt returns a log entry of raft.
func entryAt(t testing.TB, index uint64, cmd *commandv1.Command) *raft.Log {
	t.Helper()
	data, err := Encode(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return &raft.Log{Index: index, Type: raft.LogCommand, Data: data}
}

// sample returns a state with something of everything.
func sample(t testing.TB) *State {
	t.Helper()
	l := newLog(t, tiny, wide)
	l.must(at(epoch+1000, observe(false)))
	l.must(at(epoch+1000, setConfig(&commandv1.Config{
		MaxWindowMs: 600_000, WaitThresholdMs: 1000, MaxClockOffsetMs: 500, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
	}, 0)))
	first := l.must(at(epoch+1000, acquire("a/0", 2000))).Grant
	l.must(at(epoch+1000, release(first, nonceHash('a'), first.From+5)))
	second := l.must(at(epoch+1000, acquire("b/0", 2000))).Grant
	extension := at(epoch+2000, extend(second, nonceHash('b'), second.Until, 4000))
	extension.GetExtendWindow().ExtensionId = 1 << 40
	l.must(extension)
	l.must(at(epoch+2000, checkpoint(0, nil)))
	l.must(at(epoch+2000, removeMember("node-1")))
	return l.State
}

// sampleSequences returns a state with something of everything that sequences have.
func sampleSequences(t testing.TB) *State {
	t.Helper()
	l := newSequenceLog(t, plain("orders"), plain("zebra", numbers(-5, -3, -100, 100)))
	l.must(at(epoch, observe(false)))
	l.must(at(epoch+5, create(plain("invoices", resetting(resetDaily), func(s *commandv1.SequenceSpec) {
		s.TimeZone, s.Format, s.Description = "Europe/Berlin", "{date:yyyyMMdd}-{seq:06}", "what we want to be paid"
		s.Mode = commandv1.SequenceMode_SEQUENCE_MODE_STRICT
	}), 20250101)))
	l.take("invoices", 10, 20250101)
	l.take("invoices", 10, 20250102)
	l.take("orders", 100, 0)
	l.must(withID(allocate("orders", l.seq("orders").Generation, 50, 0), "request-1"))
	l.must(withID(allocate("orders", l.seq("orders").Generation, 50, 0), "request-2"))
	l.take("zebra", 7, 0)
	l.must(remove("zebra"))
	l.must(create(plain("unused"), 0))
	l.must(removeMember("node-1"))
	return l.State
}

func snapshotBytes(t testing.TB, s *State) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := s.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("wrote %d bytes of %d: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

func readerOf(data []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }
