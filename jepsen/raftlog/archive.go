package raftlog

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
)

// The path of the archive in a run's directory is archiveDir/archiveFile; see dirOf for lives after the first.
const (
	archiveDir  = "raft"
	archiveFile = "entries.bin"
)

// Summary is the outcome of a harvest.
type Summary struct {
	Member string `json:"member"`
	Number uint32 `json:"number"`           // number of the harvest, from 1
	At     int64  `json:"at"`               // time of the copy, as passed to [Archive.Harvest]
	Absent bool   `json:"absent,omitempty"` // true if there was no log; see [Archive.Absent]

	// First and Last are the indexes of the first and last undamaged entries; 0 if the log is empty. Term is the term of
	// the last.
	First uint64 `json:"first,omitempty"`
	Last  uint64 `json:"last,omitempty"`
	Term  uint64 `json:"term,omitempty"`

	// Entries is the number of undamaged entries. Indexes between First and Last may lack an entry, because a member that
	// installs a snapshot keeps its earlier entries.
	Entries int `json:"entries,omitempty"`

	Snapshots []Snapshot `json:"snapshots,omitempty"` // ascending
	States    []State    `json:"states,omitempty"`    // states of the snapshots whose content was copied

	// Sum is a checksum over the undamaged entries.
	Sum uint32 `json:"sum,omitempty"`

	Damaged          int    `json:"damaged,omitempty"` // entries with a wrong checksum
	FirstDamaged     uint64 `json:"first_damaged,omitempty"`
	DamagedSnapshots int    `json:"damaged_snapshots,omitempty"` // snapshots with damaged metadata
	DamagedStates    int    `json:"damaged_states,omitempty"`    // snapshots with damaged content
	Problem          string `json:"problem,omitempty"`           // reason for which the log is unreadable
}

// Snapshot returns the newest snapshot, zero if there is none.
func (s *Summary) Snapshot() Snapshot {
	if len(s.Snapshots) == 0 {
		return Snapshot{}
	}
	return s.Snapshots[len(s.Snapshots)-1]
}

// tip returns the last point of the member's log, which is in the log itself or in a snapshot.
func (s *Summary) tip() Snapshot {
	newest := s.Snapshot()
	if s.Last >= newest.Index {
		return Snapshot{s.Last, s.Term}
	}
	return newest
}

// termAt returns the term of an index at which a snapshot ends, 0 for other indexes.
func (s *Summary) termAt(index uint64) uint64 {
	for _, snap := range s.Snapshots {
		if snap.Index == index {
			return snap.Term
		}
	}
	return 0
}

func (s *Summary) damaged(index uint64) {
	if s.Damaged++; s.Damaged == 1 {
		s.FirstDamaged = index
	}
}

func (s *Summary) saw(e Entry) {
	if s.Entries++; s.Entries == 1 {
		s.First = e.Index
	}
	s.Last, s.Term = e.Index, e.Term
	s.Sum = crc32.Update(s.Sum, crc32.IEEETable, binary.BigEndian.AppendUint32(nil, entrySum(&e)))
}

// seen identifies an entry with its predecessor's term. Each is archived once.
type seen struct {
	index, term, prev uint64
	sum               uint32
}

// Archive collects entries during a run. Its methods may be called from any goroutine.
type Archive struct {
	mu       sync.Mutex
	file     *os.File
	w        *bufio.Writer
	seen     map[seen]struct{}
	states   map[string]State // states of the snapshots read so far, keyed by member and name
	harvests uint32
}

// dirOf returns the directory of a life's archive.
func dirOf(runDir string, life int) string {
	if life == 1 {
		return filepath.Join(runDir, archiveDir)
	}
	return filepath.Join(runDir, fmt.Sprintf("%s-%d", archiveDir, life))
}

// CreateRestored makes the archive of a life, from 2 on, that begins with a restored data directory. It copies the
// directory's only snapshot into the archive. No member may have started with the directory yet.
func CreateRestored(runDir string, life int, dataDir string) (*Archive, error) {
	found, err := filepath.Glob(filepath.Join(dataDir, snapshotDir, "*", metaFile))
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("restored directory: %d snapshots, expected 1", len(found))
	}
	return createFrom(filepath.Dir(found[0]), runDir, life)
}

// CreateBranch makes the archive of another branch of a life's log, in a directory of the run's directory. From life 2 on, the
// life must have an archive.
func CreateBranch(runDir, branch string, life int) (*Archive, error) {
	if life == 1 {
		return Create(filepath.Join(runDir, branch), life)
	}
	return createFrom(dirOf(runDir, life), filepath.Join(runDir, branch), life)
}

// createFrom makes the archive of a life that begins with the state in a directory.
func createFrom(begin, runDir string, life int) (*Archive, error) {
	a, err := Create(runDir, life)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{metaFile, stateFile} {
		raw, err := os.ReadFile(filepath.Join(begin, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dirOf(runDir, life), name), raw, 0o644) //nolint:gosec // G306: readable for all users
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("initial state of life %d: %w", life, err), a.Close())
		}
	}
	return a, nil
}

// Create makes the archive of a run's life, from 1 on. The life must not have an archive yet.
func Create(runDir string, life int) (*Archive, error) {
	dir := dirOf(runDir, life)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // G301: readable for all users
		return nil, fmt.Errorf("archive of entries: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, archiveFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // G302: readable for all users
	if err != nil {
		return nil, fmt.Errorf("archive of entries: %w", err)
	}
	return &Archive{file: f, w: bufio.NewWriterSize(f, 1<<18), seen: map[seen]struct{}{}, states: map[string]State{}}, nil
}

// Harvest archives the new entries in a copy of a member's data directory. The copy has raft.db, and meta.json and
// state.bin of each snapshot. The first four bytes of state.bin suffice, but the audit compares a state only if all of
// the file is there. The copy must have been taken while the member was stopped; at is that time on the clock of
// history.Now. Harvest only reads the copy. It skips damaged data without an error and counts it in the Summary. The last
// harvest of each member must be taken at the end of the run.
func (a *Archive) Harvest(member string, at int64, dir string) (Summary, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := os.Stat(dir); err != nil {
		return Summary{}, fmt.Errorf("copied data directory of %s: %w", member, err)
	}
	a.harvests++
	s := Summary{Member: member, Number: a.harvests, At: at}
	if err := a.snapshots(&s, dir); err != nil {
		return s, err
	}
	if err := readLog(dir, &s, func(e Entry, prev uint64) error { return a.add(&s, e, prev) }); err != nil {
		return s, fmt.Errorf("harvest of %s: %w", member, err)
	}
	return s, a.record(s)
}

// Absent records that a member has no log because its data was wiped. The member does not count for majorities until it is
// harvested again.
func (a *Archive) Absent(member string, at int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.harvests++
	return a.record(Summary{Member: member, Number: a.harvests, At: at, Absent: true})
}

// record writes the outcome of a harvest. Requires a.mu held.
func (a *Archive) record(s Summary) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := errors.Join(writeRecord(a.w, append([]byte{kindHarvest}, raw...)), a.w.Flush()); err != nil {
		return fmt.Errorf("archive of entries: %w", err)
	}
	return nil
}

func (a *Archive) add(s *Summary, e Entry, prev uint64) error {
	key := seen{e.Index, e.Term, prev, entrySum(&e)}
	if _, ok := a.seen[key]; ok {
		return nil
	}
	a.seen[key] = struct{}{}
	r := record{entry: e, prev: prev, harvest: s.Number, member: s.Member}
	return writeRecord(a.w, r.payload())
}

// Close writes buffered records and closes the archive.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := errors.Join(a.w.Flush(), a.file.Close()); err != nil {
		return fmt.Errorf("archive of entries: %w", err)
	}
	return nil
}
