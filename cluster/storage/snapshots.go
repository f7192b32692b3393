package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/logging"
)

// checkedSnapshots puts a checksum of a snapshot's metadata (index, term and the Raft configuration) before its content. The
// file store checks only the content, and a flipped bit in the metadata could change the set of voters.
type checkedSnapshots struct {
	raft.SnapshotStore
	path    string
	corrupt func(error) // called with damage that is detected while running
}

const (
	snapshotHeaderSize = 4
	// snapshotVersion is the version of snapshots that raft writes. In version 0, the members are stored in another field.
	snapshotVersion = 1
)

func (c *checkedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := c.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	header := binary.BigEndian.AppendUint32(nil, snapshotSum(&raft.SnapshotMeta{
		Index: index, Term: term, Configuration: configuration, ConfigurationIndex: configurationIndex,
	}))
	if _, err := sink.Write(header); err != nil {
		_ = sink.Cancel()
		return nil, err
	}
	return sink, nil
}

func (c *checkedSnapshots) List() ([]*raft.SnapshotMeta, error) {
	metas, err := c.SnapshotStore.List()
	for _, m := range metas {
		m.Size -= snapshotHeaderSize
	}
	return metas, err
}

func (c *checkedSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, content, err := c.open(id)
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		c.corrupt(corrupt)
	}
	return meta, content, err
}

func (c *checkedSnapshots) open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	damaged := func(reason string) error { return &CorruptError{Path: filepath.Join(c.path, id), Reason: reason} }
	meta, content, err := c.SnapshotStore.Open(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, err // a newer snapshot replaced it
	}
	if err != nil {
		return nil, nil, damaged(err.Error())
	}
	var header [snapshotHeaderSize]byte
	if _, err := io.ReadFull(content, header[:]); err != nil {
		return nil, nil, errors.Join(damaged(err.Error()), content.Close())
	}
	if binary.BigEndian.Uint32(header[:]) != snapshotSum(meta) || meta.Version != snapshotVersion {
		return nil, nil, errors.Join(damaged("checksum mismatch in its metadata"), content.Close())
	}
	meta.Size -= snapshotHeaderSize
	return meta, content, nil
}

// scan reads every snapshot on disk. The file store would skip an unreadable snapshot, and raft would fall back to an older
// one, behind which the log may be gone. covered is the index of the newest snapshot; 0 if there is none.
func (c *checkedSnapshots) scan() (covered uint64, err error) {
	metas, err := c.SnapshotStore.List()
	if err != nil {
		return 0, &CorruptError{Path: c.path, Reason: err.Error()}
	}
	listed := make(map[string]bool, len(metas))
	for _, m := range metas {
		if listed[m.ID] {
			return 0, &CorruptError{Path: c.path, Reason: fmt.Sprintf("two snapshots have the ID %s", m.ID)}
		}
		listed[m.ID] = true
		covered = max(covered, m.Index)
		meta, content, err := c.open(m.ID)
		if errors.Is(err, os.ErrNotExist) { // at start, no newer snapshot can have replaced it
			return 0, &CorruptError{Path: c.path, Reason: err.Error()}
		}
		if err != nil {
			return 0, err
		}
		size, err := io.Copy(io.Discard, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return 0, fmt.Errorf("snapshots: %w", err)
		}
		if size != meta.Size {
			return 0, &CorruptError{Path: filepath.Join(c.path, m.ID), Reason: fmt.Sprintf("%d bytes, expected %d", size, meta.Size)}
		}
	}
	entries, err := os.ReadDir(c.path)
	if err != nil {
		return 0, fmt.Errorf("snapshots: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasSuffix(e.Name(), ".tmp") && !listed[e.Name()] && len(metas) < snapshotsRetained {
			return 0, &CorruptError{Path: filepath.Join(c.path, e.Name()), Reason: "metadata cannot be read"}
		}
	}
	return covered, nil
}

func snapshotSum(m *raft.SnapshotMeta) uint32 {
	b := fmt.Appendf(nil, "%d %d %d", m.Index, m.Term, m.ConfigurationIndex)
	for _, s := range m.Configuration.Servers {
		b = fmt.Appendf(b, "\n%d %q %q", s.Suffrage, s.ID, s.Address)
	}
	return crc32.Checksum(b, castagnoli)
}

// openSnapshots returns raft's store of the snapshots in a data directory, which it creates if there is none.
func openSnapshots(dir string, logger *slog.Logger) (*raft.FileSnapshotStore, error) {
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsRetained, logging.Hashicorp(logger, "snapshot", nil))
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return files, nil
}
