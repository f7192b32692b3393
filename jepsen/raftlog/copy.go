package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// logFile is the name of the log in a member's data directory.
const logFile = "raft.db"

// mostEntries is the greatest number of indexes that a log may span. A larger span means damage.
const mostEntries = 1 << 24

// readLog calls visit with each undamaged entry of a copied log, in ascending order. prev is the term of the entry before it,
// 0 if that entry is damaged or missing and no snapshot shows its term. readLog counts damaged entries in s.
func readLog(dir string, s *Summary, visit func(e Entry, prev uint64) error) (err error) {
	path := filepath.Join(dir, logFile)
	if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil // the member never started or was wiped
	}
	bolt, first, last, err := openCopy(path)
	if err != nil {
		s.Problem = err.Error()
		return nil
	}
	defer func() { err = errors.Join(err, closeCopy(bolt)) }()
	if first == 0 && last == 0 {
		return nil
	}
	if last < first || last-first > mostEntries {
		s.Problem = fmt.Sprintf("log claims to span entries %d to %d", first, last)
		return nil
	}
	prev, known := uint64(0), false
	for i := first; i <= last; i++ {
		e, err := getEntry(bolt, i)
		switch {
		case errors.Is(err, raft.ErrLogNotFound): // replaced by an installed snapshot
		case err != nil:
			s.damaged(i)
		default:
			if !known {
				prev = s.termAt(i - 1)
			}
			if err := visit(e, prev); err != nil {
				return err
			}
			s.saw(e)
		}
		prev, known = e.Term, err == nil
	}
	return nil
}

// openCopy opens the copied log and returns the first and last index, 0 if the log is empty.
func openCopy(path string) (bolt *raftboltdb.BoltStore, first, last uint64, err error) {
	defer catchDamage(&err)()
	bolt, err = raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{ReadOnly: true, Timeout: time.Second},
	})
	if err != nil {
		return nil, 0, 0, err
	}
	first, last, err = spanOf(bolt)
	if err != nil {
		return nil, 0, 0, errors.Join(err, closeCopy(bolt))
	}
	return bolt, first, last, nil
}

func spanOf(bolt *raftboltdb.BoltStore) (first, last uint64, err error) {
	defer catchDamage(&err)()
	if first, err = bolt.FirstIndex(); err != nil {
		return 0, 0, err
	}
	last, err = bolt.LastIndex()
	return first, last, err
}

func closeCopy(bolt *raftboltdb.BoltStore) (err error) {
	defer catchDamage(&err)()
	return bolt.Close()
}

// getEntry reads an entry and verifies its checksum, as members do.
func getEntry(bolt *raftboltdb.BoltStore, index uint64) (e Entry, err error) {
	defer catchDamage(&err)()
	var l raft.Log
	if err := bolt.GetLog(index, &l); err != nil {
		return Entry{}, err
	}
	e = Entry{Index: l.Index, Term: l.Term, Type: l.Type, Data: l.Data}
	switch {
	case len(l.Extensions) != 4 || binary.BigEndian.Uint32(l.Extensions) != entrySum(&e):
		return Entry{}, fmt.Errorf("checksum mismatch in log entry %d", index)
	case e.Index != index:
		return Entry{}, fmt.Errorf("log entry %d is stored as entry %d", e.Index, index)
	case e.Term == 0:
		return Entry{}, fmt.Errorf("log entry %d has no term", index)
	}
	return e, nil
}

// catchDamage converts a panic or a memory fault, which damaged pages cause inside bbolt, into an error. Usage:
// defer catchDamage(&err)().
func catchDamage(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			*err = fmt.Errorf("damaged log: %v", r)
		}
	}
}
