package storage

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// gaplessLog keeps a log without gaps. Before it stores entries that do not follow the last entry, it removes all older
// entries. It accepts such entries only if the newest snapshot covers the gap.
//
// Raft does not remove the older entries when it installs a leader's snapshot that goes beyond them, and stores the entries
// behind the snapshot next. But some older entries may never have been committed. If this node led, it would send them to a
// node without entries.
//
// Like raft's own cache, it is written only by raft's main goroutine.
type gaplessLog struct {
	raft.LogStore
	path      string
	snapshots raft.SnapshotStore
	fail      func(error) // called when entries cannot be stored, except for failed writes
}

func (g *gaplessLog) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

func (g *gaplessLog) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	last, err := g.LastIndex()
	if err != nil {
		return g.unread(err)
	}
	if last != 0 && logs[0].Index > last+1 {
		if err := g.replace(last, logs[0].Index); err != nil {
			return err
		}
	}
	return g.LogStore.StoreLogs(logs)
}

// replace removes the log up to last, if a snapshot covers all entries before next.
func (g *gaplessLog) replace(last, next uint64) error {
	snapshots, err := g.snapshots.List()
	if err != nil {
		return g.unread(err)
	}
	covered := uint64(0)
	for _, s := range snapshots {
		covered = max(covered, s.Index)
	}
	if covered+1 < next {
		err := &CorruptError{Path: g.path, Reason: fmt.Sprintf("entry %d cannot follow entry %d, because the newest snapshot ends at entry %d", next, last, covered)}
		g.fail(err)
		return err
	}
	first, err := g.FirstIndex()
	if err != nil {
		return g.unread(err)
	}
	return g.DeleteRange(first, last)
}

// unread reports and returns the error of a log or of snapshots that cannot be read. It must report the error, because raft
// treats an error of StoreLogs as a refusal and continues.
func (g *gaplessLog) unread(err error) error {
	err = readError(g.path, err)
	g.fail(err)
	return err
}
