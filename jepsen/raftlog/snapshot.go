package raftlog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/fsm"
)

// The names of the directory and the files of snapshots in a member's data directory.
const (
	snapshotDir = "snapshots"
	metaFile    = "meta.json"
	stateFile   = "state.bin"
)

// snapshotHeader is the length in bytes of the checksum that members put before the content.
const snapshotHeader = 4

// Snapshot is the last entry that a snapshot covers. The entry is committed.
type Snapshot struct {
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
}

// State is the digest of the state that a snapshot holds.
type State struct {
	Index  uint64 `json:"index"`
	Digest string `json:"digest,omitempty"` // hexadecimal
	// Problem is the reason for which the member's undamaged content is not a valid state.
	Problem string `json:"problem,omitempty"`
}

// snapshotMeta is the metadata that the library stores next to a snapshot's content, with a checksum of the content.
type snapshotMeta struct {
	raft.SnapshotMeta
	CRC []byte
}

// snapshots reads the snapshots of a copied data directory into s. The content begins with the members' checksum of the
// metadata. snapshots verifies it if the copy has at least the first four bytes of the content. If the copy has all of the
// content, snapshots computes the digest of the state.
func (a *Archive) snapshots(s *Summary, dir string) error {
	found, err := os.ReadDir(filepath.Join(dir, snapshotDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("copied snapshots: %w", err)
	}
	for _, d := range found {
		if !d.IsDir() || strings.HasSuffix(d.Name(), ".tmp") {
			continue // unfinished snapshot
		}
		path := filepath.Join(dir, snapshotDir, d.Name())
		m, err := readMeta(path)
		if err != nil {
			s.DamagedSnapshots++
			continue
		}
		s.Snapshots = append(s.Snapshots, Snapshot{m.Index, m.Term})
		state, ok, err := a.state(s.Member+"/"+d.Name(), filepath.Join(path, stateFile), &m)
		if err != nil {
			s.DamagedStates++
		} else if ok {
			s.States = append(s.States, state)
		}
	}
	slices.SortFunc(s.Snapshots, func(a, b Snapshot) int { return cmp.Compare(a.Index, b.Index) })
	return nil
}

// readMeta reads a snapshot's metadata, and verifies the metadata's checksum if the content is there.
func readMeta(dir string) (m snapshotMeta, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, err
	}
	sum, err := readHead(filepath.Join(dir, stateFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return m, err
	case sum != snapshotSum(&m.SnapshotMeta):
		return m, errors.New("checksum mismatch in a snapshot's metadata")
	}
	if m.Index == 0 || m.Term == 0 {
		return m, errors.New("snapshot without an index or a term")
	}
	return m, nil
}

func readHead(path string) (uint32, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // read only
	var head [snapshotHeader]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(head[:]), nil
}

// state returns the state in a snapshot's content; ok is false if the content is not there in full. It returns an error if
// the content is damaged. If the undamaged content is not a valid state, it sets Problem. name identifies the snapshot,
// which is read only once.
func (a *Archive) state(name, path string, m *snapshotMeta) (state State, ok bool, err error) {
	if state, ok = a.states[name]; ok {
		return state, true, nil
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != m.Size || m.Size <= snapshotHeader {
		return State{}, false, nil // only the metadata was copied
	}
	f, err := os.Open(path)
	if err != nil {
		return State{}, false, err
	}
	defer f.Close() //nolint:errcheck // read only
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	if _, err := io.Copy(sum, f); err != nil {
		return State{}, false, err
	}
	if !bytes.Equal(sum.Sum(nil), m.CRC) {
		return State{}, false, errors.New("checksum mismatch in a snapshot's content")
	}
	if _, err := f.Seek(snapshotHeader, io.SeekStart); err != nil {
		return State{}, false, err
	}
	state.Index = m.Index
	if restored, err := fsm.ReadState(f, fsm.Version); err != nil {
		state.Problem = err.Error()
	} else {
		digest := restored.Digest()
		state.Digest = hex.EncodeToString(digest[:])
	}
	a.states[name] = state
	return state, true, nil
}

// snapshotSum returns the members' checksum of a snapshot's metadata.
func snapshotSum(m *raft.SnapshotMeta) uint32 {
	b := fmt.Appendf(nil, "%d %d %d", m.Index, m.Term, m.ConfigurationIndex)
	for _, s := range m.Configuration.Servers {
		b = fmt.Appendf(b, "\n%d %q %q", s.Suffrage, s.ID, s.Address)
	}
	return crc32.Checksum(b, castagnoli)
}
