package storage

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/google/uuid"
)

const identityFile = "member.json"

// Identity identifies a node, and holds the lock of its data directory. An empty directory makes a new node. The cluster ID is
// set once, by bootstrap or by the first node of a cluster that contacts this node, and never changes. The methods may be
// called from any goroutine.
type Identity struct {
	dir  string   // empty if kept in memory only
	lock *dirLock // nil without a directory

	joining sync.Mutex // held while the node joins or starts a cluster; locked before mu

	mu         sync.Mutex
	data       identityData
	superseded *Superseded
}

type identityData struct {
	MemberID  string `json:"member_id"`
	ClusterID string `json:"cluster_id,omitempty"`
	// Starts counts the starts with the directory. Of two gossiped addresses of one node, the one with more starts is current.
	Starts uint64 `json:"starts"`
	// Term reports whether the store ever held a term above 0 or a vote, Log whether it ever held log entries. A store without
	// them has then lost them.
	Term bool `json:"term,omitempty"`
	Log  bool `json:"log,omitempty"`
	// Secured reports whether the node has ever run with a cluster secret.
	Secured bool   `json:"secured,omitempty"`
	Sum     uint32 `json:"sum"`
}

func (d identityData) sum() uint32 {
	return crc32.Checksum(fmt.Appendf(nil, "%s\n%s\n%d\n%t %t %t", d.MemberID, d.ClusterID, d.Starts, d.Term, d.Log, d.Secured), castagnoli)
}

// NewIdentity returns an identity that is kept in memory only.
func NewIdentity(node, cluster string, starts uint64) *Identity {
	return &Identity{data: identityData{MemberID: node, ClusterID: cluster, Starts: starts}}
}

// OpenIdentity locks a data directory until Close, creates it if necessary, reads or generates the identity, and counts a
// start. An empty dir means an identity in memory.
//
// Errors: *CorruptError if the identity is damaged; ErrInterrupted; an error while another process holds the lock; errors of the operating
// system.
func OpenIdentity(dir string) (_ *Identity, err error) {
	if dir == "" {
		return NewIdentity(uuid.NewString(), "", 1), nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &unusableError{dir, err}
	}
	if err := interrupted(dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lock.Close()
		}
	}()
	id := &Identity{dir: dir, lock: lock}
	if id.superseded, err = readSuperseded(dir); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(id.path())
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(filepath.Join(dir, logFile)); err == nil {
			return nil, &CorruptError{Path: id.path(), Reason: "the file is missing, although there is a Raft log"}
		}
		id.data = identityData{MemberID: uuid.NewString()}
	case err != nil:
		return nil, &unusableError{dir, err}
	default:
		if err := json.Unmarshal(raw, &id.data); err != nil {
			return nil, &CorruptError{Path: id.path(), Reason: err.Error()}
		}
		if id.data.Sum != id.data.sum() || uuid.Validate(id.data.MemberID) != nil {
			return nil, &CorruptError{Path: id.path(), Reason: "checksum mismatch"}
		}
	}
	id.data.Starts++
	if err := id.save(); err != nil {
		return nil, &unusableError{dir, err}
	}
	return id, nil
}

// Restrict takes the access of other users of the host from a data directory. It reports whether they had access; false if the
// directory does not exist. The directory keeps the access of its group, which backups or a container may need.
func Restrict(dir string) (others bool, err error) {
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return false, err
	}
	return true, os.Chmod(dir, info.Mode().Perm()&^0o007)
}

// unusableError reports that the operating system does not let this process use a data directory. Its text omits the
// operation.
type unusableError struct {
	dir string
	err error
}

func (e *unusableError) Error() string {
	why := e.err.Error()
	if path, ok := errors.AsType[*os.PathError](e.err); ok {
		why = path.Err.Error()
		if file, err := filepath.Rel(e.dir, path.Path); err == nil && filepath.IsLocal(file) && file != "." {
			why = file + ": " + why
		}
	}
	remedy := "let this user read and write it. A new member may use another directory"
	if errors.Is(e.err, fs.ErrPermission) { // perhaps that of a member that ran as another user
		remedy = "let this user read and write it and its files"
	}
	if errors.Is(e.err, syscall.ENOSPC) || errors.Is(e.err, syscall.EDQUOT) {
		remedy = "free space on its disk, then start the member again"
	}
	return fmt.Sprintf("data directory %s: cannot be used (%s); %s", e.dir, why, remedy)
}

// Unwrap returns the error of the operating system.
func (e *unusableError) Unwrap() error { return e.err }

func (id *Identity) path() string { return filepath.Join(id.dir, identityFile) }

// Node returns the node's ID, a UUID.
func (id *Identity) Node() string { return id.data.MemberID }

// Starts returns the number of starts with the directory, this one included.
func (id *Identity) Starts() uint64 { return id.data.Starts }

// Cluster returns the ID of the node's cluster; empty before it has joined one.
func (id *Identity) Cluster() string {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.data.ClusterID
}

// Adopt makes this node join a cluster, durably, if it has joined none yet. It reports whether the node now belongs to that
// cluster. The error is that of the disk; the node then has not joined.
func (id *Identity) Adopt(cluster string) (bool, error) {
	if own := id.Cluster(); own != "" {
		return own == cluster, nil
	}
	first, err := id.Found(cluster, func() error { return nil })
	return first || (err == nil && id.Cluster() == cluster), err
}

// Found makes this node the first of a new cluster, durably. It calls start while no other cluster can adopt the node. It
// returns false, without a call of start, if the node already belongs to a cluster. The error is that of start or of the
// disk; the node then has not joined.
func (id *Identity) Found(cluster string, start func() error) (bool, error) {
	id.joining.Lock()
	defer id.joining.Unlock()
	if id.Cluster() != "" {
		return false, nil
	}
	// start comes first: a crash in between leaves a Raft configuration without a cluster ID, which the next start recognizes
	// and completes.
	if err := start(); err != nil {
		return false, err
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	id.data.ClusterID = cluster
	if err := id.save(); err != nil {
		id.data.ClusterID = ""
		return false, err
	}
	return true, nil
}

// sawTerm records durably that the store holds a term or a vote. Until it returns nil, no request may be answered based on
// them: a store of which nothing is recorded may be replaced by an empty one.
func (id *Identity) sawTerm() error {
	return id.remember(func(d *identityData) *bool { return &d.Term })
}

// sawLog records durably that the store holds log entries, see sawTerm.
func (id *Identity) sawLog() error {
	return id.remember(func(d *identityData) *bool { return &d.Log })
}

// Secured reports whether the node has ever run with a cluster secret.
func (id *Identity) Secured() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.data.Secured
}

// Secure records durably that the node has run with a cluster secret.
func (id *Identity) Secure() error {
	return id.remember(func(d *identityData) *bool { return &d.Secured })
}

func (id *Identity) remember(field func(*identityData) *bool) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	f := field(&id.data)
	if *f {
		return nil
	}
	*f = true
	if err := id.save(); err != nil {
		*f = false
		return &DiskError{Path: id.path(), Err: err}
	}
	return nil
}

// held reports whether the store ever held a term, a vote or log entries, on which other nodes may rely.
func (id *Identity) held() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.data.Term || id.data.Log
}

// lost returns a CorruptError if the store lacks a term or log entries that the identity records.
func (id *Identity) lost(s *Store) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.data.Term {
		// A node may have stored a term of 0: before any other term, or when it took its bootstrap back. A node that also
		// recorded log entries had a later term.
		term, err := s.stable.Get([]byte("CurrentTerm"))
		if err != nil || len(term) != 8 || (id.data.Log && binary.BigEndian.Uint64(term) == 0) {
			return &CorruptError{Path: s.log.path, Reason: "the term and vote that it held are gone"}
		}
	}
	if id.data.Log {
		last, err := s.log.LastIndex()
		if err != nil {
			return err
		}
		snaps, err := s.Snapshots.List()
		if err != nil {
			return err
		}
		if last == 0 && len(snaps) == 0 {
			return &CorruptError{Path: s.log.path, Reason: "the log that it held is gone"}
		}
	}
	return nil
}

// save replaces the identity file atomically and durably. Requires id.mu held, unless no other goroutine knows id yet.
func (id *Identity) save() error {
	if id.dir == "" {
		return nil
	}
	id.data.Sum = id.data.sum()
	raw, err := json.MarshalIndent(id.data, "", "  ")
	if err != nil {
		return err
	}
	return id.replace(identityFile, append(raw, '\n'))
}

// replace replaces a whole file of the directory durably.
func (id *Identity) replace(name string, content []byte) error {
	path := filepath.Join(id.dir, name)
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(id.dir)
}

// syncDir makes the entries of a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Close unlocks the data directory.
func (id *Identity) Close() error {
	if id.lock == nil {
		return nil
	}
	return id.lock.Close()
}
