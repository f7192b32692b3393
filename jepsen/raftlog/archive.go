package raftlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// archiveDir and archiveFile are where the archive is, in a run's directory.
const (
	archiveDir  = "raft"
	archiveFile = "entries.bin"
)

// Summary says what a harvest found.
type Summary struct {
	Member string `json:"member"`
	Number uint32 `json:"number"`           // of the harvest, from 1
	At     int64  `json:"at"`               // as it was given
	Absent bool   `json:"absent,omitempty"` // there was no log, see [Archive.Absent]

	// First and Last are the ends of the log, without what is damaged, both included; 0 if it
	// is empty. Term is the last entry's.
	First uint64 `json:"first,omitempty"`
	Last  uint64 `json:"last,omitempty"`
	Term  uint64 `json:"term,omitempty"`

	// Entries is how many are whole. There may be fewer than there are indexes between the ends:
	// a member that installed a snapshot keeps what it had before.
	Entries int `json:"entries,omitempty"`

	Snapshots []Snapshot `json:"snapshots,omitempty"` // ascending
	States    []State    `json:"states,omitempty"`    // of those whose content was copied

	Damaged          int    `json:"damaged,omitempty"` // entries whose checksum is wrong
	FirstDamaged     uint64 `json:"first_damaged,omitempty"`
	DamagedSnapshots int    `json:"damaged_snapshots,omitempty"` // whose metadata is wrong
	DamagedStates    int    `json:"damaged_states,omitempty"`    // whose content is damaged
	Problem          string `json:"problem,omitempty"`           // why nothing could be read of the log
}

// Snapshot is the newest snapshot, zero if there is none.
func (s *Summary) Snapshot() Snapshot {
	if len(s.Snapshots) == 0 {
		return Snapshot{}
	}
	return s.Snapshots[len(s.Snapshots)-1]
}

// tip is the last that the member has of the log, in the log itself or in a snapshot.
func (s *Summary) tip() Snapshot {
	newest := s.Snapshot()
	if s.Last >= newest.Index {
		return Snapshot{s.Last, s.Term}
	}
	return newest
}

// termAt is the term of an index that a snapshot ends with, else 0.
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
}

// seen tells apart what is archived once.
type seen struct {
	index, term, prev uint64
	sum               uint32
}

// Archive collects entries while a run goes on. Its methods may be called from any
// goroutine.
type Archive struct {
	mu       sync.Mutex
	file     *os.File
	w        *bufio.Writer
	seen     map[seen]struct{}
	states   map[string]State // of the snapshots that were read, by member and name
	harvests uint32
}

// dirOf is where the archive of a life is.
func dirOf(runDir string, life int) string {
	if life == 1 {
		return filepath.Join(runDir, archiveDir)
	}
	return filepath.Join(runDir, fmt.Sprintf("%s-%d", archiveDir, life))
}

// CreateRestored makes the archive of a cluster that begins with a restored data directory, of a life from 2 on.
// It keeps the snapshot in the directory, which no member has started with yet.
func CreateRestored(runDir string, life int, dataDir string) (*Archive, error) {
	found, err := filepath.Glob(filepath.Join(dataDir, snapshotDir, "*", metaFile))
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d snapshots in a restored directory, expected 1", len(found))
	}
	a, err := Create(runDir, life)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{metaFile, stateFile} {
		raw, err := os.ReadFile(filepath.Join(filepath.Dir(found[0]), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dirOf(runDir, life), name), raw, 0o644) //nolint:gosec // G306: for everybody to read
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the state of life %d: %w", life, err), a.Close())
		}
	}
	return a, nil
}

// Create makes the archive of a run's life, from 1 on, which must have none yet.
func Create(runDir string, life int) (*Archive, error) {
	dir := dirOf(runDir, life)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // G301: for everybody to read
		return nil, fmt.Errorf("the archive of entries: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, archiveFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // G302: as above
	if err != nil {
		return nil, fmt.Errorf("the archive of entries: %w", err)
	}
	return &Archive{file: f, w: bufio.NewWriterSize(f, 1<<18), seen: map[seen]struct{}{}, states: map[string]State{}}, nil
}

// Harvest archives what is new in a copy of a member's data directory: raft.db, and of each
// snapshot meta.json and state.bin, of which the first four bytes are enough, though the audit can
// compare the state only if all of it is there. The copy was taken while the member stood
// still, at a moment of history.Now's clock; it is only read. What is damaged is not archived and no error: the Summary tells of it. The
// harvest of each member that begins last has to be at the run's end.
func (a *Archive) Harvest(member string, at int64, dir string) (Summary, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := os.Stat(dir); err != nil {
		return Summary{}, fmt.Errorf("the copy of %s's data directory: %w", member, err)
	}
	a.harvests++
	s := Summary{Member: member, Number: a.harvests, At: at}
	if err := a.snapshots(&s, dir); err != nil {
		return s, err
	}
	if err := readLog(dir, &s, func(e Entry, prev uint64) error { return a.add(&s, e, prev) }); err != nil {
		return s, fmt.Errorf("the harvest of %s: %w", member, err)
	}
	return s, a.tell(s)
}

// Absent notes that a member has no log: its data was wiped. It doesn't count for what a
// majority has, until it is harvested again.
func (a *Archive) Absent(member string, at int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.harvests++
	return a.tell(Summary{Member: member, Number: a.harvests, At: at, Absent: true})
}

// tell writes what a harvest found; mu is held.
func (a *Archive) tell(s Summary) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := errors.Join(writeRecord(a.w, append([]byte{kindHarvest}, raw...)), a.w.Flush()); err != nil {
		return fmt.Errorf("the archive of entries: %w", err)
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

// Close writes what is left.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := errors.Join(a.w.Flush(), a.file.Close()); err != nil {
		return fmt.Errorf("the archive of entries: %w", err)
	}
	return nil
}
