package simtest

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// backup returns a backup of the state of a running member.
func (n *node) backup() (*backup.Backup, error) {
	m := n.proc().member
	captured, err := m.State().Capture()
	if err != nil {
		return nil, err
	}
	config := m.State().ConfigValue()
	h := &commandv1.BackupHeader{
		ClusterId: m.Node().ClusterID(), Index: m.Node().AppliedIndex(), Term: m.Node().Term(), TakenAtMs: time.Now().UnixMilli(),
		MaxWindowMs: config.GetMaxWindowMs(), MaxClockOffsetMs: config.GetMaxClockOffsetMs(), MemberId: m.Node().ID(), MemberName: n.name,
	}
	for _, o := range m.Node().Members() {
		h.Members = append(h.Members, &commandv1.BackupMember{Id: o.ID, Name: o.Name, RaftAddress: o.Address, ApiAddress: o.API, Voter: o.Voter})
	}
	var raw bytes.Buffer
	if _, err := captured.WriteTo(&raw); err != nil {
		return nil, err
	}
	state, err := fsm.ReadState(&raw, next)
	return &backup.Backup{Header: h, State: state}, err
}

// restore makes this machine, which is new, the first member of a restored cluster.
func (n *node) restore(b *backup.Backup) error {
	dir := filepath.Join(n.dir, "restored")
	now := time.Now().UnixMilli()
	if _, err := (backup.Restore{NowMillis: now, OldEndedMillis: now, ZonesKept: true, KeepTokens: true}).Into(dir, b); err != nil {
		return err
	}
	if err := n.disk.load(dir); err != nil {
		return err
	}
	n.dir = dir
	return nil
}

// load copies the content of a data directory with a snapshot and no log to an empty disk.
func (d *disk) load(dir string) (err error) {
	bolt, err := raftboltdb.NewBoltStore(filepath.Join(dir, "raft.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bolt.Close()) }()
	term := []byte("CurrentTerm")
	value, err := bolt.Get(term)
	if err != nil {
		return err
	}
	if err := d.Set(term, value); err != nil {
		return err
	}
	files, err := raft.NewFileSnapshotStore(dir, 1, io.Discard)
	if err != nil {
		return err
	}
	metas, err := files.List()
	for _, m := range metas {
		meta, content, openErr := files.Open(m.ID)
		if openErr != nil {
			return openErr
		}
		data, readErr := io.ReadAll(content)
		err = errors.Join(err, readErr, content.Close())
		d.snapshots = append(d.snapshots, snapshot{*meta, data})
	}
	return err
}
