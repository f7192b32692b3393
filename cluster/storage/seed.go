package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"
)

// Seed describes a new cluster of one member that continues from a state.
type Seed struct {
	Cluster string // ID of the new cluster
	Index   uint64 // log index of the state; the member's first entry follows it
	Term    uint64 // term of the entry at Index
	// Address returns the address of the only voter, "ID@host:port" in Raft's form, for the voter's ID.
	Address func(node string) string
	// State writes the content of the first snapshot.
	State io.WriterTo
}

// ErrNotEmpty reports that a directory is not empty although it must be.
var ErrNotEmpty = errors.New("the directory is not empty")

// seedingFile marks a directory that Create has not completed. A kill leaves the file there.
const seedingFile = "restore.incomplete"

// ErrInterrupted reports a directory that an interrupted restore left.
var ErrInterrupted = errors.New("the restore into this directory was interrupted")

// interrupted returns the error of a directory that Create has not completed, and nil for other directories.
func interrupted(dir string) error {
	switch _, err := os.Stat(filepath.Join(dir, seedingFile)); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err // the restore still runs
	}
	return errors.Join(fmt.Errorf("data directory %s: %w; delete it, and restore again from the backup", dir, ErrInterrupted), lock.Close())
}

// lostAndFound is the directory that a new ext4 file system contains. The data directory of a restored member may be the root
// of a file system.
const lostAndFound = "lost+found"

// Create makes the data directory of a new member, which must be absent or empty, except for lost+found, and returns the
// member's ID. After an error the directory is as it was before. If root calls it, the owner of the directory owns its content.
//
// Create marks the directory as incomplete before the first file and until the end. No member starts with such a directory.
// Create holds the lock of the directory meanwhile, so that it removes no file of another process.
func (s Seed) Create(dir string, logger *slog.Logger) (node string, err error) {
	if err := interrupted(dir); err != nil {
		return "", err
	}
	made, err := emptyDir(dir)
	if err != nil {
		return "", err
	}
	id := &Identity{data: identityData{MemberID: uuid.NewString(), ClusterID: s.Cluster, Term: true, Log: true}}
	if id.lock, err = lockDir(dir); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, id.Close()) }()
	if err := checkEmpty(dir, lockFile); err != nil { // another process was quicker
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, empty(dir, made))
		}
	}()
	if err := mark(dir); err != nil {
		return "", err
	}
	if err := s.write(dir, id, logger); err != nil {
		return "", err
	}
	id.dir = dir
	if err := id.save(); err != nil {
		return "", err
	}
	if err := shareOwner(dir); err != nil {
		return "", err
	}
	if err := os.Remove(filepath.Join(dir, seedingFile)); err != nil {
		return "", err
	}
	return id.Node(), syncDir(dir)
}

// mark writes seedingFile durably.
func mark(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, seedingFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), syncDir(dir))
}

// shareOwner gives the content of a directory to the owner of the directory: root creates files in the directory of a service,
// and the service, which runs as another user, must be able to open them.
func shareOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	user, group, ok := ownerOf(info)
	if !ok || os.Geteuid() != 0 || user == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir) // the owner may replace files by links that lead outside
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case path == lostAndFound && e.IsDir(): // files of the file system's check, perhaps of other users
			return fs.SkipDir
		default:
			return root.Lchown(path, user, group)
		}
	})
}

// write writes the term and the state.
func (s Seed) write(dir string, id *Identity, logger *slog.Logger) (err error) {
	bolt, err := openBolt(filepath.Join(dir, logFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bolt.Close()) }()
	files, err := openSnapshots(dir, logger)
	if err != nil {
		return err
	}
	// The identity is still in memory only, so that the stores write nothing to its file.
	store, snapshots, err := guard(Stores{Logs: bolt, Stable: bolt, Snapshots: files}, id, func(error) {})
	if err != nil {
		return err
	}
	if err := store.stable.SetUint64([]byte("CurrentTerm"), s.Term); err != nil {
		return err
	}
	servers := []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(id.Node()), Address: raft.ServerAddress(s.Address(id.Node()))}}
	_, encodesPeers := raft.NewInmemTransport("") // raft still writes the obsolete list of peers, which nothing reads
	sink, err := snapshots.Create(snapshotVersion, s.Index, s.Term, raft.Configuration{Servers: servers}, s.Index, encodesPeers)
	if err != nil {
		return err
	}
	if _, err := s.State.WriteTo(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// emptyDir creates a directory, or checks that it is empty; made reports whether the directory was created.
func emptyDir(dir string) (made bool, err error) {
	err = checkEmpty(dir)
	if errors.Is(err, os.ErrNotExist) {
		return true, os.MkdirAll(dir, 0o700)
	}
	return false, err
}

// checkEmpty returns an error if a directory has entries other than the given ones and those of the file system.
func checkEmpty(dir string, except ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return ours(e) && !slices.Contains(except, e.Name()) }) {
		return fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	return nil
}

// ours reports whether an entry of a data directory does not belong to the file system.
func ours(e os.DirEntry) bool { return e.Name() != lostAndFound || !e.IsDir() }

// empty removes the content of a directory that was empty, and the directory itself if it was created.
func empty(dir string, made bool) error {
	if made {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !ours(e) }) {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return errors.Join(errs...)
}
