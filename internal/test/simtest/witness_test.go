package simtest

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
)

// entries returns the log on a disk.
func (d *disk) entries() map[uint64]raft.Log {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[uint64]raft.Log)
	for i, l := range d.logs {
		all[i] = *l
	}
	return all
}

// keeps checks that a disk has each entry that it had.
func (w *world) keeps(n *node, had map[uint64]raft.Log) {
	w.Helper()
	has := n.disk.entries()
	for i, l := range had {
		if !reflect.DeepEqual(has[i], l) {
			w.Errorf("entry %d of %s has changed", i, n.name)
		}
	}
}

// falls checks that a member with entries of both branches stops soon after the others have sealed the history, and for good.
func (w *world) falls(n *node) {
	w.Helper()
	issues := func() bool {
		p := n.proc()
		return p != nil && p.issue(1, 0) == nil
	}
	w.until(2*noticed, n.name+" issues nothing", func() bool { return !issues() })
	w.pass(time.Minute)
	if issues() {
		w.Errorf("%s issues, although the history is sealed", n.name)
	}
	replay, entries := fsm.NewReplay(fsm.NewState(), fsm.Version), n.disk.entries()
	for _, index := range slices.Sorted(maps.Keys(entries)) {
		l := entries[index]
		if err := replay.Apply(&l); err != nil {
			w.Errorf("the log of %s cannot be replayed for a restore: entry %d: %v", n.name, index, err)
			return
		}
	}
}

// testifies waits until a leader has contradicted the witness. It checks that the witness issues nothing, stays up, and has each
// entry that it had.
func (w *world) testifies(witness *node, had map[uint64]raft.Log) {
	w.Helper()
	w.until(2*recovery, "the leader contradicts the witness", func() bool { return witness.proc().member.Node().Contradiction() != nil })
	w.pass(30 * time.Second)
	w.keeps(witness, had)
	if err := witness.proc().issue(1, 0); !errors.Is(err, allocator.ErrContradicted) {
		w.Errorf("the witness: %v, want %v", err, allocator.ErrContradicted)
	}
	if err := witness.proc().member.Ready(); !errors.Is(err, allocator.ErrContradicted) {
		w.Errorf("the witness is ready: %v, want %v", err, allocator.ErrContradicted)
	}
	for _, n := range w.live() {
		if q := n.proc().member.Node().Quorum(); q.Alive != q.Voters-1 {
			w.Errorf("%s counts %d of %d voters as alive, with the witness", n.name, q.Alive, q.Voters)
		}
	}
}
