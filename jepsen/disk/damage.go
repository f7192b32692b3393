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

// Part is a part of what a member keeps in its data directory.
type Part string

// The parts of a data directory.
const (
	Log          Part = "log"           // raft.db: the log, the term and the vote
	Snapshot     Part = "snapshot"      // the state.bin of one of the snapshots
	SnapshotMeta Part = "snapshot-meta" // the meta.json of one of them
	Identity     Part = "identity"      // member.json
)

// Parts are all parts, in a fixed order.
func Parts() []Part { return []Part{Log, Snapshot, SnapshotMeta, Identity} }

// Damage is exactly what was done to a file.
type Damage struct {
	File   string `json:"file"`            // in the data directory
	Offset int64  `json:"offset"`          // of the byte, or the size that the file has now
	Bit    int    `json:"bit"`             // 0 to 7, the lowest being 0; -1 if the file was cut
	Size   int64  `json:"size"`            // of the file before, in bytes
	Place  string `json:"place,omitempty"` // what was there, as far as it is known
}

// String says it in a line.
func (d Damage) String() string {
	said := fmt.Sprintf("%s: bit %d of byte %d turned", d.File, d.Bit, d.Offset)
	if d.Bit < 0 {
		said = fmt.Sprintf("%s: cut from %d to %d bytes", d.File, d.Size, d.Offset)
	}
	if d.Place != "" {
		said += " (" + d.Place + ")"
	}
	return said
}

// FlipBit turns one bit of a part, durably. The member must be down. In the log it
// is usually one of an entry, seldom one anywhere, where it may mean nothing. The
// error is fs.ErrNotExist if the directory has no such part, which a member without
// a snapshot has not.
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

// Truncate cuts a part at a random byte, durably; the log usually where something
// is lost by it. The member must be down. Errors are those of [FlipBit].
func Truncate(r *rand.Rand, dir string, what Part) (Damage, error) {
	d, content, err := victim(r, dir, what)
	if err != nil {
		return Damage{}, err
	}
	d.Bit, d.Offset = -1, r.Int64N(d.Size)
	if used := usedBytes(content); what == Log && used > 0 && r.IntN(8) > 0 {
		d.Offset = r.Int64N(used)
		d.Place = fmt.Sprintf("%d were in use", used)
	}
	return d, change(dir, d, func(f *os.File) error { return f.Truncate(d.Offset) })
}

// victim chooses a file and reads it.
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
		return Damage{}, nil, fmt.Errorf("damage the %s: %s is empty: %w", what, name, fs.ErrNotExist)
	}
	return Damage{File: name, Size: int64(len(content))}, content, nil
}

// fileOf is the path of a part in the data directory.
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
		return "", errors.New("there is no such part")
	}
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil {
		return "", err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() || strings.HasSuffix(e.Name(), ".tmp") // one that was never finished
	})
	if len(entries) == 0 {
		return "", fmt.Errorf("no snapshot in %s: %w", dir, fs.ErrNotExist)
	}
	return filepath.Join("snapshots", entries[r.IntN(len(entries))].Name(), snapshot), nil
}

// change does something to the damaged file, durably.
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
