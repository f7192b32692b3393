package fsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestMachineSequences(t *testing.T) {
	m := New(Options{})
	daily := plain("s", resetting(resetDaily))
	for i, step := range []struct {
		cmd     *commandv1.Command
		changes bool
	}{
		{create(daily, 20250101), true},
		{create(daily, 20250101), false},
		{allocate("s", 2, 10, 20250101), false},
		{giveBack("s", 4, 1), false},
		{allocate("s", 2, 10, 20250102), true},
		{set(daily, 2, 1000), true},
		{create(plain("other"), 0), true},
		{remove("other"), true},
		{observe(false), false},
	} {
		c, before := m.Changed(), m.SequenceRevision().Load()
		layouts := m.layouts.Load()
		mustApply(t, m, uint64(i+2), at(epoch, step.cmd))
		if grew := m.SequenceRevision().Load() > before; grew != step.changes || changed(c) != step.changes {
			t.Errorf("%v: revision grew %v, changed %v, want %v", step.cmd, grew, changed(c), step.changes)
		}
		if m.layouts.Load() != layouts {
			t.Errorf("%v: the layouts were copied", step.cmd)
		}
	}
	if q, ok := m.Sequence("s"); !ok || q.Next != 1000 || q.Spec.GetName() != "s" {
		t.Errorf("%+v, %v", q, ok)
	}
	if generation, period, ok := m.SequenceStamp("s"); !ok || generation != 7 || period != 20250102 {
		t.Errorf("%d, %d, %v", generation, period, ok)
	}
	if _, ok := m.Sequence("other"); ok {
		t.Error("a deleted sequence is there")
	}
	if _, _, ok := m.SequenceStamp("other"); ok {
		t.Error("a deleted sequence is there")
	}
	before := m.SequenceRevision().Load()
	if err := m.Restore(readerOf(snapshotBytes(t, m.state))); err != nil || m.SequenceRevision().Load() <= before {
		t.Errorf("%v, revision %d after %d", err, m.SequenceRevision().Load(), before)
	}
	if n := testing.AllocsPerRun(100, func() { m.SequenceStamp("s") }); n > 0 {
		t.Errorf("a stamp takes %v allocations", n)
	}
}

// TestSnapshotOfSequencesStays applies commands before a snapshot is persisted.
func TestSnapshotOfSequencesStays(t *testing.T) {
	m := New(Options{})
	index := uint64(1)
	next := func(cmd *commandv1.Command) Result {
		index++
		return mustApply(t, m, index, at(epoch, cmd))
	}
	var names []string
	for i := range 500 {
		names = append(names, string(rune('a'+i%26))+string(rune('0'+i/26)))
		next(create(plain(names[i]), 0))
		next(withID(allocate(names[i], index, 10, 0), "r"))
		if i%5 == 0 {
			next(remove(names[i]))
		}
	}
	want := snapshotBytes(t, m.state)
	var snapshots []*snapshot
	for range 3 {
		s, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, s.(*snapshot))
	}
	var persisting sync.WaitGroup
	files := make([]sink, len(snapshots))
	for i, s := range snapshots {
		persisting.Go(func() {
			if err := s.Persist(&files[i]); err != nil {
				t.Error(err)
			}
		})
	}
	for i, name := range names {
		if i%5 == 0 {
			next(forced(create(plain(name), 0)))
		}
		q, _ := m.Sequence(name)
		next(withID(allocate(name, q.Generation, 10, 0), "r2"))
		if i%3 == 0 {
			next(remove(name))
		}
	}
	persisting.Wait()
	for i := range files {
		if !bytes.Equal(files[i].Bytes(), want) {
			t.Errorf("snapshot %d has later commands", i)
		}
	}
}

// TestSequenceReaders is for the race detector.
func TestSequenceReaders(t *testing.T) {
	m := New(Options{})
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for !changed(done) {
				m.SequenceRevision().Load()
				m.Sequence("b1")
				m.SequenceStamp("b1")
				m.View(func(s *State) {
					s.Digest()
					s.Sequences("", "", 10)
					s.SequenceNames("b", 2)
				})
			}
		})
	}
	readers.Go(func() {
		if err := m.AwaitApplied(t.Context(), 200); err != nil {
			t.Error(err)
		}
	})
	index := uint64(1)
	next := func(cmd *commandv1.Command) {
		index++
		mustApply(t, m, index, cmd)
	}
	for i := range 60 {
		name := fmt.Sprint(string(rune('a'+i%3)), i)
		next(create(plain(name), 0))
		next(withID(allocate(name, index, 5, 0), "r"))
		if _, err := m.Snapshot(); err != nil {
			t.Fatal(err)
		}
		next(remove(name))
		next(forced(create(plain(name), 0)))
		next(set(plain(name), index, 1000))
	}
	close(done)
	readers.Wait()
}

func TestAwaitApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{})
		mustApply(t, m, 1, observeAt(1))
		if err := m.AwaitApplied(t.Context(), 1); err != nil {
			t.Error(err)
		}
		wait := func(ctx context.Context, index uint64) <-chan error {
			done := make(chan error, 1)
			go func() { done <- m.AwaitApplied(ctx, index) }()
			synctest.Wait()
			return done
		}
		second, fifth := wait(t.Context(), 2), wait(t.Context(), 5)
		ctx, cancel := context.WithCancel(t.Context())
		canceled := wait(ctx, 5)
		mustApply(t, m, 3, observeAt(1))
		if err := <-second; err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-canceled; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		if len(fifth) != 0 || len(m.waiters) != 1 {
			t.Errorf("%d answered, %d wait", len(fifth), len(m.waiters))
		}
		m.Apply(entryAt(t, 6, at(epoch, remove("nothing")))) // refused, but applied
		if err := <-fifth; err != nil {
			t.Error(err)
		}

		// The content of a snapshot shows that the snapshot is past an index.
		other := New(Options{})
		mustApply(t, other, 20, create(plain("s"), 0))
		twentieth, later := wait(t.Context(), 20), wait(t.Context(), 21)
		if err := m.Restore(readerOf(snapshotBytes(t, other.state))); err != nil {
			t.Fatal(err)
		}
		if err := <-twentieth; err != nil {
			t.Error(err)
		}
		if err := m.Restore(readerOf([]byte("damaged"))); err == nil {
			t.Fatal("restored")
		}
		if err := <-later; !errors.Is(err, ErrHalted) {
			t.Error(err)
		}
		if err := m.AwaitApplied(t.Context(), 99); !errors.Is(err, ErrHalted) {
			t.Error(err)
		}
		if err := m.AwaitApplied(t.Context(), 20); err != nil {
			t.Error(err)
		}
		if n := testing.AllocsPerRun(100, func() { _ = m.AwaitApplied(ctx, 20) }); n > 0 {
			t.Errorf("AwaitApplied() of an applied index makes %v allocations, want 0", n)
		}
	})
}

func observeAt(ms int64) *commandv1.Command { return at(ms, observe(false)) }

// TestAwaitedIsPublished: a caller that awaited a command sees its effect.
func TestAwaitedIsPublished(t *testing.T) {
	m := New(Options{})
	before := m.SequenceRevision().Load()
	var waiters sync.WaitGroup
	for i := range uint64(2000) {
		cmd := create(plain(fmt.Sprint(i)), 0)
		for range 2 {
			waiters.Go(func() {
				if err := m.AwaitApplied(t.Context(), 2+i); err != nil || m.SequenceRevision().Load() < before+i+1 {
					t.Errorf("index %d: %v, revision %d", 2+i, err, m.SequenceRevision().Load()-before)
				}
			})
		}
		mustApply(t, m, 2+i, cmd)
	}
	waiters.Wait()
}
