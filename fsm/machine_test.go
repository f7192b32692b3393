package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func mustApply(t *testing.T, m *Machine, index uint64, cmd *commandv1.Command) Result {
	t.Helper()
	r := m.Apply(entryAt(t, index, cmd)).(Result)
	if err := r.Failure(); err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return r
}

func changed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestMachinePublishes(t *testing.T) {
	m := New(Options{})
	if m.Observed().Load() != 0 || m.ConfigValue().GetMaxWindowMs() != 600_000 {
		t.Error("a new machine knows something")
	}
	config := &commandv1.Config{
		MaxWindowMs: 5000, WaitThresholdMs: 1, MaxClockOffsetMs: 1, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
	}
	for i, step := range []struct {
		cmd     *commandv1.Command
		changes bool
	}{
		{at(epoch, createLayout(tiny)), true},
		{at(epoch, createLayout(tiny)), false},
		{at(epoch+7, observe(false)), false},
		{at(epoch, setConfig(config, 0)), true},
		{at(epoch, setConfig(config, 4)), false},
		{at(epoch+7, acquire("a/0", 1000)), false},
		{at(epoch, raise(1)), false},
		{at(epoch, removeMember("x")), false},
	} {
		c := m.Changed()
		mustApply(t, m, uint64(i+1), step.cmd)
		if changed(c) != step.changes {
			t.Errorf("%v: changed %v, want %v", step.cmd, changed(c), step.changes)
		}
	}
	if m.Observed().Load() != epoch+7 || m.ConfigValue().GetMaxWindowMs() != 5000 {
		t.Errorf("observed %d, config %v", m.Observed().Load(), m.ConfigValue())
	}
	layout, ok := m.Layout("tiny")
	if _, other := m.Layout("other"); !ok || layout.Name() != "tiny" || other {
		t.Errorf("layout %v, %v, another %v", layout, ok, other)
	}
	c := m.Changed()
	newer := New(Options{Supported: Version + 1})
	mustApply(t, newer, 1, raise(Version+1))
	if changed(c) {
		t.Error("changed by another machine")
	}
	m.View(func(s *State) {
		if who, ok := s.WhoIs("tiny", 0, 0); !ok || who.Holder != "a/0" {
			t.Errorf("%+v, %v", who, ok)
		}
	})
	if r := m.Apply(&raft.Log{Index: 99, Type: raft.LogNoop}).(Result); r.Failure() != nil {
		t.Errorf("a no-op returned %+v", r)
	}
}

func TestMachineHalts(t *testing.T) {
	flipped := entryAt(t, 2, at(epoch, observe(false)))
	flipped.Data[7] ^= 1
	unknown := &raft.Log{Index: 2, Type: raft.LogCommand, Data: framed(
		protowire.AppendBytes(protowire.AppendTag(nil, 500, protowire.BytesType), nil))}
	newer := at(epoch, observe(false))
	newer.Version = Version + 1
	digest := [32]byte{1}
	for name, test := range map[string]struct {
		log    *raft.Log
		advice string
		is     error
	}{
		"a flipped bit":      {flipped, "wipe this member's data directory", ErrCorrupt},
		"nothing":            {&raft.Log{Index: 2, Type: raft.LogCommand}, "wipe this member's data directory", ErrCorrupt},
		"an unknown command": {unknown, "run a newer snowraft", ErrUnknownCommand},
		"a newer version":    {entryAt(t, 2, newer), "start the newer program", ErrUnknownCommand},
		"a newer cluster":    {entryAt(t, 2, raise(Version+1)), "start the newer program", ErrUnknownCommand},
		"another state":      {entryAt(t, 2, checkpoint(1, digest[:])), "wipe this member's data directory", ErrHalted},
	} {
		t.Run(name, func(t *testing.T) {
			var halts []error
			var m *Machine
			m = New(Options{Halt: func(err error) {
				halts = append(halts, err)
				m.View(func(*State) {}) // no lock is held
			}})
			mustApply(t, m, 1, checkpoint(0, nil))
			var before [32]byte
			m.View(func(s *State) { before = s.Digest() })
			snapshot := snapshotBytes(t, m.state)

			r := m.Apply(test.log).(Result)
			if !errors.Is(r.Halted, ErrHalted) || !errors.Is(r.Halted, test.is) || r.Err == nil || !errors.Is(r.Failure(), ErrHalted) {
				t.Fatalf("%+v", r)
			}
			where := "index 2"
			if newer, ok := errors.AsType[*NewerError](r.Halted); ok {
				where = fmt.Sprintf("fsm_version %d, and this program knows them up to fsm_version %d", newer.Used, Version)
			}
			if text := r.Halted.Error(); !strings.Contains(text, where) || !strings.Contains(text, test.advice) {
				t.Errorf("%q does not say where and what to do", text)
			}
			if r := m.Apply(entryAt(t, 3, at(epoch, createLayout(tiny)))).(Result); !errors.Is(r.Halted, ErrHalted) {
				t.Errorf("after that: %+v", r)
			}
			m.View(func(s *State) {
				if s.Digest() != before {
					t.Error("the state changed")
				}
			})
			if _, err := m.Snapshot(); !errors.Is(err, ErrHalted) {
				t.Errorf("snapshot: %v", err)
			}
			if err := m.Restore(readerOf(snapshot)); !errors.Is(err, ErrHalted) {
				t.Errorf("restore: %v", err)
			}
			if len(halts) != 1 || !errors.Is(halts[0], ErrHalted) {
				t.Errorf("halted %d times: %v", len(halts), halts)
			}
		})
	}
	quiet := New(Options{})
	if r := quiet.Apply(flipped).(Result); r.Halted == nil {
		t.Error("not halted without a Halt function")
	}
}

// A command that the machine cannot apply does not enter the log. Only an intact one halts, with the reason that Apply gives.
func TestMachineAdmits(t *testing.T) {
	damaged := entryAt(t, 2, at(epoch, observe(false)))
	damaged.Data[7] ^= 1
	unknown := at(epoch, observe(false))
	unknown.Version = Version + 1
	for name, c := range map[string]struct {
		log   *raft.Log
		is    error
		halts int
	}{
		"a command":       {entryAt(t, 2, at(epoch, observe(false))), nil, 0},
		"a flipped bit":   {damaged, ErrCorrupt, 0},
		"nothing":         {&raft.Log{Index: 2, Type: raft.LogCommand}, ErrCorrupt, 0},
		"a newer version": {entryAt(t, 2, unknown), ErrUnknownCommand, 1},
		"a newer cluster": {entryAt(t, 2, raise(Version+1)), ErrUnknownCommand, 1},
	} {
		var halts []error
		m := New(Options{Halt: func(err error) { halts = append(halts, err) }})
		mustApply(t, m, 1, checkpoint(0, nil))
		for range 2 { // raft repeats a refused request
			if err := m.Admit(c.log); !errors.Is(err, c.is) {
				t.Errorf("%s: Admit() = %v, want %v", name, err, c.is)
			}
		}
		if len(halts) != c.halts || c.halts > 0 && !errors.Is(halts[0], ErrHalted) {
			t.Errorf("%s: halted %d times: %v", name, len(halts), halts)
		}
		r := m.Apply(entryAt(t, 2, at(epoch, observe(false)))).(Result)
		if (r.Halted != nil) != (c.halts > 0) {
			t.Errorf("%s: then %+v", name, r)
		}
	}
}

// A command of a newer version may have fields that this build does not know. The version is the reason that helps.
func TestVersionExplainsUnknownFields(t *testing.T) {
	t.Parallel()
	newer := at(epoch, observe(false))
	newer.Version = Version + 1
	newer.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1))
	raw, err := proto.Marshal(newer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeFor(&raft.Log{Index: 2, Data: framed(raw)}, Version); !errors.As(err, new(*NewerError)) {
		t.Errorf("decodeFor() = %v, want a NewerError", err)
	}
	if cmd, err := Decode(framed(raw)); !errors.Is(err, ErrUnknownCommand) {
		t.Errorf("Decode() = %v, %v", cmd, err)
	}
}

func TestMachineOfANewerBuild(t *testing.T) {
	m := New(Options{Supported: Version + 1})
	c := m.Changed()
	mustApply(t, m, 1, raise(Version+1))
	if !changed(c) {
		t.Error("a raised version was not announced")
	}
	cmd := at(epoch, observe(false))
	cmd.Version = Version + 1
	mustApply(t, m, 2, cmd)
	if err := New(Options{}).Restore(readerOf(snapshotBytes(t, m.state))); !errors.Is(err, ErrUnknownCommand) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("an older build: %v", err)
	}
}

func TestMachineSnapshotAndRestore(t *testing.T) {
	m := New(Options{})
	mustApply(t, m, 1, at(epoch, createLayout(tiny)))
	g := mustApply(t, m, 2, at(epoch, acquire("a/0", 1000))).Grant
	mustApply(t, m, 3, at(epoch+50, observe(false)))
	snapshot, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	want := snapshotBytes(t, m.state)
	// Commands are applied before the snapshot is persisted, and touch everything that it copied.
	mustApply(t, m, 4, at(epoch+500, extend(g, nonceHash('a'), g.Until, 1000)))
	mustApply(t, m, 5, at(epoch, acquire("b/0", 1000)))
	mustApply(t, m, 6, removeMember("x"))
	var file sink
	if err := snapshot.Persist(&file); err != nil || !file.closed || file.canceled {
		t.Fatalf("%v, closed %v, canceled %v", err, file.closed, file.canceled)
	}
	snapshot.Release()
	if !bytes.Equal(file.Bytes(), want) {
		t.Fatal("the snapshot has later commands")
	}

	var reported []error
	victim := New(Options{Halt: func(err error) { reported = append(reported, err) }})
	mustApply(t, victim, 1, at(epoch+9, observe(false)))
	c := victim.Changed()
	damaged := bytes.Clone(want)
	damaged[len(damaged)-1] ^= 1
	if err := victim.Restore(readerOf(damaged)); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "wipe") {
		t.Errorf("damaged: %v", err)
	}
	if victim.Observed().Load() != epoch+9 || changed(c) {
		t.Error("a failed restore changed something")
	}
	if err := victim.Restore(readerOf(want)); len(reported) != 1 || !errors.Is(reported[0], ErrHalted) || !errors.Is(err, ErrHalted) {
		t.Errorf("after a failed restore: Halt got %v, the next call returned %v", reported, err)
	}

	other := New(Options{})
	mustApply(t, other, 1, at(epoch+9, observe(false)))
	c = other.Changed()
	if err := other.Restore(readerOf(want)); err != nil {
		t.Fatal(err)
	}
	if _, ok := other.Layout("tiny"); !ok || other.Observed().Load() != epoch+50 || !changed(c) {
		t.Error("the restored state was not published")
	}
}

// TestMachineReaders is for the race detector. It calls everything that other goroutines
// may call while raft applies, takes snapshots and restores.
func TestMachineReaders(t *testing.T) {
	m := New(Options{})
	mustApply(t, m, 1, at(epoch, createLayout(wide)))
	mustApply(t, m, 2, at(epoch, createLayout(tiny)))
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for !changed(done) {
				m.Observed().Load()
				m.Layout("tiny")
				m.ConfigValue().GetMaxWindowMs()
				m.Changed()
				m.View(func(s *State) {
					s.Digest()
					s.Workers("tiny", 0, 10)
					s.WhoIs("tiny", 0, 1)
				})
			}
		})
	}
	for i := range int64(50) {
		now, index := epoch+i*1000, uint64(3+3*i)
		mustApply(t, m, index, at(now, acquire("a/0", 1000)))
		mustApply(t, m, index+1, at(now, observe(false)))
		config := &commandv1.Config{
			MaxWindowMs: 1000 + i, WaitThresholdMs: 1, MaxClockOffsetMs: 1, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
			RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
			Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
		}
		snapshot, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		var file sink
		readers.Go(func() {
			if err := snapshot.Persist(&file); err != nil {
				t.Error(err)
			}
		})
		mustApply(t, m, index+2, at(now, setConfig(config, m.ConfigValue().GetGeneration())))
		if i%10 == 0 {
			if err := m.Restore(readerOf(snapshotBytes(t, m.state))); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(done)
	readers.Wait()
}

type brokenSink struct {
	brokenDisk
	canceled bool
}

func (*brokenSink) ID() string      { return "broken" }
func (*brokenSink) Close() error    { return nil }
func (b *brokenSink) Cancel() error { b.canceled = true; return nil }

func TestMachineCancelsABrokenSnapshot(t *testing.T) {
	snapshot, err := New(Options{}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var broken brokenSink
	if err := snapshot.Persist(&broken); !errors.Is(err, errDisk) || !broken.canceled {
		t.Errorf("%v, canceled %v", err, broken.canceled)
	}
}
