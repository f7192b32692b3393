package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Part is a kind of file in a member's data directory.
type Part string

// The parts of a data directory.
const (
	Log          Part = "log"           // raft.db: the log, the term and the vote
	Snapshot     Part = "snapshot"      // state.bin of a random snapshot
	SnapshotMeta Part = "snapshot-meta" // meta.json of a random snapshot
	Identity     Part = "identity"      // member.json
)

// Parts returns all parts, in a fixed order.
func Parts() []Part { return []Part{Log, Snapshot, SnapshotMeta, Identity} }

// Damage describes one change to a file.
type Damage struct {
	File   string `json:"file"`            // path relative to the data directory
	Offset int64  `json:"offset"`          // offset of the changed byte, or the new size of a cut file
	Bit    int    `json:"bit"`             // 0 (lowest) to 7; -1 if the file was cut
	Size   int64  `json:"size"`            // bytes before the change
	Place  string `json:"place,omitempty"` // former content at the offset; empty if unknown
}

// String returns a description in one line.
func (d Damage) String() string {
	text := fmt.Sprintf("%s: bit %d of byte %d flipped", d.File, d.Bit, d.Offset)
	if d.Bit < 0 {
		text = fmt.Sprintf("%s: cut from %d to %d bytes", d.File, d.Size, d.Offset)
	}
	if d.Place != "" {
		text += " (" + d.Place + ")"
	}
	return text
}

// FlipBit flips one bit of a part and syncs the file. The member must be down. In
// the log, the bit usually belongs to an entry. Rarely it is any bit of the file,
// possibly of an unused page. FlipBit returns fs.ErrNotExist if the directory lacks
// the part, for example the snapshot.
func FlipBit(r *rand.Rand, dir string, what Part) (Damage, error) {
	d, content, err := victim(r, dir, what)
	if err != nil {
		return Damage{}, err
	}
	d.Offset, d.Bit = r.Int64N(d.Size), r.IntN(8)
	if what == Log {
		d.Offset, d.Place = logByte(r, content)
	}
	return d, change(dir, d, func(f *os.File) error {
		_, err := f.WriteAt([]byte{content[d.Offset] ^ 1<<d.Bit}, d.Offset)
		return err
	})
}

// Truncate cuts a part at a random byte and syncs the file. It usually cuts the
// log before the end of the last page in use. The member must be down. Errors are
// those of [FlipBit].
func Truncate(r *rand.Rand, dir string, what Part) (Damage, error) {
	d, content, err := victim(r, dir, what)
	if err != nil {
		return Damage{}, err
	}
	d.Bit, d.Offset = -1, r.Int64N(d.Size)
	if used := usedBytes(content); what == Log && used > 0 && r.IntN(8) > 0 {
		d.Offset = r.Int64N(used)
		d.Place = fmt.Sprintf("%d bytes were in use", used)
	}
	return d, change(dir, d, func(f *os.File) error { return f.Truncate(d.Offset) })
}

// victim chooses a file of a part and reads the file.
func victim(r *rand.Rand, dir string, what Part) (Damage, []byte, error) {
	name, err := fileOf(r, dir, what)
	if err != nil {
		return Damage{}, nil, fmt.Errorf("damage the %s: %w", what, err)
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return Damage{}, nil, fmt.Errorf("damage the %s: %w", what, err)
	}
	if len(content) == 0 {
		return Damage{}, nil, fmt.Errorf("damage the %s: file %s is empty: %w", what, name, fs.ErrNotExist)
	}
	return Damage{File: name, Size: int64(len(content))}, content, nil
}

// fileOf returns the path of a part relative to the data directory; for the parts of snapshots, it chooses one at random.
func fileOf(r *rand.Rand, dir string, what Part) (string, error) {
	var snapshot string
	switch what {
	case Log:
		return "raft.db", nil
	case Identity:
		return "member.json", nil
	case Snapshot:
		snapshot = "state.bin"
	case SnapshotMeta:
		snapshot = "meta.json"
	default:
		return "", errors.New("unknown part")
	}
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil {
		return "", err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() || strings.HasSuffix(e.Name(), ".tmp") // unfinished snapshot
	})
	if len(entries) == 0 {
		return "", fmt.Errorf("no snapshot in %s: %w", dir, fs.ErrNotExist)
	}
	return filepath.Join("snapshots", entries[r.IntN(len(entries))].Name(), snapshot), nil
}

// change opens the file for writing, calls do and syncs the file.
func change(dir string, d Damage, do func(*os.File) error) error {
	f, err := os.OpenFile(filepath.Join(dir, d.File), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("damage %s: %w", d.File, err)
	}
	if err := errors.Join(do(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("damage %s: %w", d.File, err)
	}
	return nil
}
