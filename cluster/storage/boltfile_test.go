package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// openUnsynced opens a log file as a node does, but does not wait for the disk.
func openUnsynced(t testing.TB, path string, noFreelist bool) *raftboltdb.BoltStore {
	t.Helper()
	b, err := raftboltdb.New(raftboltdb.Options{Path: path, NoSync: true, BoltOptions: &bbolt.Options{
		NoSync: true, NoGrowSync: true, NoFreelistSync: noFreelist, FreelistType: bbolt.FreelistMapType,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func checkBytes(raw []byte) error {
	c, err := openBytes(raw)
	if err != nil {
		return err
	}
	return c.check()
}

// openBytes reads the metadata of a file, and no other page.
func openBytes(raw []byte) (*boltFile, error) {
	c := &boltFile{path: logFile, file: bytes.NewReader(raw), size: uint64(len(raw))}
	return c, c.readMetas()
}

// soundFile opens the bytes of a node's log file, and fails the test unless all pages are intact.
func soundFile(t *testing.T, raw []byte) *boltFile {
	t.Helper()
	c, err := openBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSoundFilesAreAccepted checks a log after each transaction of a random sequence of raft's operations.
func TestSoundFilesAreAccepted(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), logFile)
	var first, last uint64 = 1, 0
	b := openUnsynced(t, path, false)
	for step := range depth.Of(1000, 3000) {
		var err error
		switch n := rng.IntN(100); {
		case n < 80:
			var logs []*raft.Log
			for range 1 + rng.IntN(20) {
				size := rng.IntN(200)
				switch rng.IntN(50) {
				case 0:
					size = rng.IntN(5000)
				case 1:
					size = rng.IntN(60000)
				}
				last++
				logs = append(logs, &raft.Log{Index: last, Term: 1, Data: make([]byte, size)})
			}
			err = b.StoreLogs(logs)
		case n < 90:
			err = b.SetUint64([]byte([]string{"CurrentTerm", "LastVoteTerm"}[rng.IntN(2)]), uint64(step))
		case n < 92:
			err = b.Set([]byte("LastVoteCand"), make([]byte, 36))
		case n < 94 && last >= first: // a conflict
			to := first + rng.Uint64N(last-first+1)
			if err = b.DeleteRange(to, last); err == nil {
				last = to - 1
			}
		case n < 96 && last > first: // after a snapshot
			to := first + rng.Uint64N(last-first)
			if err = b.DeleteRange(first, to); err == nil {
				first = to + 1
			}
		case n < 97:
			err = b.DeleteRange(1, last)
			first = last + 1
		default:
			if err = b.Close(); err == nil {
				b = openUnsynced(t, path, rng.IntN(4) == 0)
			}
		}
		if err == nil {
			err = checkBolt(path)
		}
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNewFilesAreAccepted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), logFile)
	if err := checkBolt(path); err != nil {
		t.Errorf("absent: %v", err)
	}
	for _, size := range []int{0, 1024, 16384, 65536} {
		b, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: size})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := checkBolt(path); err != nil {
			t.Errorf("without buckets, pages of %d: %v", size, err)
		}
		if err := openUnsynced(t, path, false).Close(); err != nil {
			t.Fatal(err)
		}
		if err := checkBolt(path); err != nil {
			t.Errorf("without entries, pages of %d: %v", size, err)
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		if err := checkBolt(path); err != nil {
			t.Errorf("empty: %v", err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Earlier versions wrote no free list.
func TestFilesWithoutAFreeListAreTakenOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), logFile)
	b := openUnsynced(t, path, true)
	for i := range uint64(50) {
		if err := b.StoreLog(entry(i+1, 1, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := openBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	last, err := b.LastIndex()
	if err := errors.Join(err, b.Close()); err != nil || last != 50 {
		t.Errorf("last %d, %v", last, err)
	}
	c := &boltFile{path: path}
	if raw, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	} else if c.file, c.size = bytes.NewReader(raw), uint64(len(raw)); c.readMetas() != nil || c.freelist == boltNoFreelist {
		t.Error("the free list is still not written")
	}
}

func BenchmarkCheckBolt(b *testing.B) {
	for _, mb := range []int{1, 100} {
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), logFile)
			s, err := raftboltdb.New(raftboltdb.Options{Path: path, NoSync: true, BoltOptions: &bbolt.Options{NoSync: true, NoGrowSync: true}})
			if err != nil {
				b.Fatal(err)
			}
			for i, size := uint64(0), int64(0); size < int64(mb)<<20; {
				var logs []*raft.Log
				for range 1000 {
					i++
					logs = append(logs, &raft.Log{Index: i, Term: 1, Data: make([]byte, 100)})
				}
				if err := s.StoreLogs(logs); err != nil {
					b.Fatal(err)
				}
				info, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				size = info.Size()
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := checkBolt(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Without a free list, bbolt reads all pages when it opens the file, and panics in its own goroutine.
func TestDamagedFileWithoutAFreeList(t *testing.T) {
	t.Parallel()
	trial, child := inChild(t)
	if !child {
		return
	}
	path := filepath.Join(t.TempDir(), logFile)
	b := openUnsynced(t, path, true)
	for i := range uint64(20) {
		if err := b.StoreLog(entry(i+1, 1, strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := binary.BigEndian.AppendUint64(nil, 12)
	trial("key 12 is damaged wherever it is")
	if err := os.WriteFile(path, bytes.ReplaceAll(raw, key, append([]byte{0x80}, key[1:]...)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = openBolt(path)
	if _, ok := errors.AsType[*CorruptError](err); !ok {
		t.Errorf("opened: %v", err)
	}
}

// FuzzBoltFile damages a file in several places at once. Each place takes 4 bytes for the offset and 1 for the change. bbolt
// must be able to use each accepted file.
func FuzzBoltFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), logFile)
	whole := fill(f)
	raw, err := os.ReadFile(filepath.Join(whole.dir, logFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0, 0, 0x40, 9, 1, 0, 0, 0x50, 20, 0xff})
	f.Fuzz(func(t *testing.T, edits []byte) {
		bad := bytes.Clone(raw)
		for ; len(edits) >= 5; edits = edits[5:] {
			bad[int(binary.BigEndian.Uint32(edits))%len(bad)] ^= edits[4]
		}
		err := checkBytes(bad)
		if err != nil {
			if _, ok := errors.AsType[*CorruptError](err); !ok {
				t.Error(err)
			}
			return
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := whole.read(path); err != nil {
			if _, ok := errors.AsType[*CorruptError](err); !ok {
				t.Error(err)
			}
		}
	})
}
