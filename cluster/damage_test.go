package cluster

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// inChild runs the rest of a test in a process of its own: a panic in a
// goroutine of bbolt's would end this one. What a trial is about is told with
// the function that it returns, which says it when the process ends.
func inChild(t *testing.T) (trial func(format string, args ...any), child bool) {
	t.Helper()
	const variable = "SNOWRAFT_TEST_CHILD"
	if os.Getenv(variable) == t.Name() {
		return func(format string, args ...any) { fmt.Fprintf(os.Stderr, "trial: "+format+"\n", args...) }, true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	var out, last bytes.Buffer
	cmd.Stdout = &out
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "trial: ") {
			last.Reset()
		}
		fmt.Fprintln(&last, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s\n%s", err, &out, &last)
	}
	return nil, false
}

// stored is what a data directory held before it was damaged.
type stored struct {
	dir    string
	logs   []raft.Log
	values map[string][]byte
	// snapshots holds their content, the oldest first.
	snapshots []string
}

// fill fills a data directory so that all there is in a log file occurs:
// several levels of pages, large values, pages of earlier transactions.
func fill(t testing.TB) *stored {
	t.Helper()
	s := &stored{dir: t.TempDir(), values: map[string][]byte{}}
	id := mustOpen(t, s.dir)
	_ = id.sawTerm()
	_ = id.sawLog()
	path := filepath.Join(s.dir, logFile)
	bolt := openUnsynced(t, path, false)
	ignore := func() error { return nil }
	fail := func(err error) { t.Error(err) }
	logs := &checkedLog{LogStore: bolt, path: path, corrupt: fail, stored: ignore}
	stable := &checkedStable{StableStore: bolt, path: path, corrupt: fail, stored: ignore}
	rng := rand.New(rand.NewPCG(3, 4))
	const first, last = 301, 600
	for i := uint64(1); i <= last; {
		var batch []*raft.Log
		for range 1 + rng.IntN(10) {
			size := 40 + rng.IntN(100)
			if i == 500 {
				size = 10000
			}
			batch = append(batch, entry(i, 1+i/100, strings.Repeat("x", size)))
			i++
		}
		if err := logs.StoreLogs(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(logs.DeleteRange(1, first-1), logs.DeleteRange(last-5, last+10)); err != nil {
		t.Fatal(err)
	}
	for i := uint64(last - 5); i <= last; i++ {
		if err := logs.StoreLog(entry(i, 8, "y")); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string][]byte{
		"CurrentTerm": binary.BigEndian.AppendUint64(nil, 8), "LastVoteTerm": binary.BigEndian.AppendUint64(nil, 8),
		"LastVoteCand": []byte(id.node()),
	} {
		s.values[key] = value
		if err := stable.Set([]byte(key), value); err != nil {
			t.Fatal(err)
		}
	}
	for i := uint64(first); i <= last; i++ {
		var l raft.Log
		if err := logs.GetLog(i, &l); err != nil {
			t.Fatal(err)
		}
		s.logs = append(s.logs, l)
	}
	if err := errors.Join(bolt.Close(), id.close()); err != nil {
		t.Fatal(err)
	}
	return s
}

// compare says what is not as it was stored.
func (s *stored) compare(logs raft.LogStore, stable raft.StableStore) error {
	first, err1 := logs.FirstIndex()
	last, err2 := logs.LastIndex()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if first != s.logs[0].Index || last != s.logs[len(s.logs)-1].Index {
		return fmt.Errorf("entries %d to %d", first, last)
	}
	for i := range s.logs {
		var l raft.Log
		if err := logs.GetLog(s.logs[i].Index, &l); err != nil {
			return err
		}
		l.AppendedAt = s.logs[i].AppendedAt // for metrics only, and without a checksum
		if !reflect.DeepEqual(l, s.logs[i]) {
			return fmt.Errorf("entry %d is %+v", s.logs[i].Index, l)
		}
	}
	for key, want := range s.values {
		got, err := stable.Get([]byte(key))
		if err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s is %x, %w", key, got, err)
		}
	}
	return nil
}

// read opens the log file as it is, without writing to it, which takes no time.
func (s *stored) read(path string) (err error) {
	defer catchDamage(path, &err)()
	if err := checkBolt(path); err != nil {
		return err
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
		ReadOnly: true, PreLoadFreelist: true, Timeout: time.Second, FreelistType: bbolt.FreelistMapType,
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bolt.Close()) }()
	log := &checkedLog{LogStore: bolt, path: path, corrupt: func(error) {}, stored: func() error { return nil }}
	stable := &checkedStable{StableStore: bolt, path: path, corrupt: func(error) {}, stored: func() error { return nil }}
	if err := verify(path, log, stable, &checkedSnapshots{SnapshotStore: raft.NewDiscardSnapshotStore(), path: filepath.Dir(path)}); err != nil {
		return err
	}
	return s.compare(log, stable)
}

// open opens the data directory as a node does.
func (s *stored) open() (err error) {
	id, err := openIdentity(s.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, id.close()) }()
	st, err := openStore(s.dir, nil, id, slog.New(slog.DiscardHandler), func(error) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	metas, err := st.Snapshots.List()
	if err != nil || len(metas) != len(s.snapshots) {
		return fmt.Errorf("%d snapshots, %w", len(metas), err)
	}
	for i, want := range s.snapshots {
		meta, content, err := st.Snapshots.Open(metas[len(metas)-1-i].ID)
		if err != nil {
			return err
		}
		got, err := io.ReadAll(content)
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
		if string(got) != want || meta.Size != int64(len(want)) || meta.Version != 1 || meta.Index != 400+100*uint64(i) || len(meta.Configuration.Servers) != 2 {
			return fmt.Errorf("snapshot %+v: %q", meta, got)
		}
	}
	return s.compare(st.Logs, st.Stable)
}

// sound is what must come of damage: nothing, or an error that says what to do.
func sound(t *testing.T, attempt func() error) (detected bool) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := attempt()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("it took %d bytes of memory", took)
	}
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*CorruptError](err); !ok {
		t.Errorf("not detected: %v", err)
	}
	return true
}

// damage changes a file at an offset until the attempt is over.
func damage(t *testing.T, f *os.File, offset int64, change func(b byte) byte, attempt func() error) bool {
	t.Helper()
	var b [1]byte
	if _, err := f.ReadAt(b[:], offset); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{change(b[0])}, offset); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := f.WriteAt(b[:], offset); err != nil {
			t.Fatal(err)
		}
	}()
	return sound(t, attempt)
}

func TestFlippedBitsInTheLogFile(t *testing.T) {
	t.Parallel()
	trial, child := inChild(t)
	if !child {
		return
	}
	s := fill(t)
	path := filepath.Join(s.dir, logFile)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &boltFile{path: path, file: f, size: 1 << 40}
	if err := c.readMetas(); err != nil {
		t.Fatal(err)
	}
	read := func() error { return s.read(path) }
	flip := func(offset int64, bit int) bool {
		trial("bit %d of byte %d", bit, offset)
		return damage(t, f, offset, func(b byte) byte { return b ^ 1<<bit }, read)
	}
	// Every bit is 100 times as many trials, and none of them fails.
	detected, trials := 0, 0
	rng := rand.New(rand.NewPCG(5, 6))
	pageSize := int64(c.pageSize)
	for page := range int64(c.pages) {
		for range 5 {
			inHeader := rng.Int64N(boltPageHeader + 2*boltElementSize)
			for _, offset := range []int64{inHeader, rng.Int64N(pageSize)} {
				trials++
				if flip(page*pageSize+offset, rng.IntN(8)) {
					detected++
				}
			}
		}
	}
	if err := read(); err != nil {
		t.Errorf("undamaged: %v", err)
	}
	if detected == 0 || detected == trials {
		t.Errorf("%d of %d were detected", detected, trials)
	}
}

// TestChangedPageNumbersAreDetected: each leads to a page that is sound, and
// often to one that was in its place in an earlier transaction.
func TestChangedPageNumbersAreDetected(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(fill(t).dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	c := soundFile(t, raw)
	page := func(id uint64) boltPage { return boltPage{kind: boltBranch, data: raw[id*c.pageSize:]} }
	var pages []uint64 // in use, with page numbers
	free := page(c.freelist)
	for id := uint64(2); id < c.pages; id++ {
		isFree := false
		for i := range readBoltHeader(free.data).count {
			isFree = isFree || binary.NativeEndian.Uint64(free.data[boltPageHeader+i*8:]) == id
		}
		h := readBoltHeader(page(id).data)
		if !isFree && h.id == id && (h.kind == boltBranch || id == c.root) {
			pages = append(pages, id)
		}
	}
	numbers := 0
	for _, id := range pages {
		p := page(id)
		for i := range readBoltHeader(p.data).count {
			number := p.data[boltPageHeader+i*boltElementSize+8:]
			if id == c.root {
				p.kind = boltLeaf
				number = p.element(i).value
			}
			numbers++
			was := binary.NativeEndian.Uint64(number)
			for other := range c.pages {
				if other == was {
					continue
				}
				binary.NativeEndian.PutUint64(number, other)
				err := checkBytes(raw)
				if _, ok := errors.AsType[*CorruptError](err); !ok {
					t.Errorf("page %d, number %d: %d in place of %d: %v", id, i, other, was, err)
				}
			}
			binary.NativeEndian.PutUint64(number, was)
		}
	}
	if err := checkBytes(raw); err != nil || numbers < 10 {
		t.Errorf("%d page numbers, %v", numbers, err)
	}
}

func TestCutOffLogFileIsDetected(t *testing.T) {
	t.Parallel()
	trial, child := inChild(t)
	if !child {
		return
	}
	s := fill(t)
	path := filepath.Join(s.dir, logFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(raw) - 1; size >= 0; size -= 1009 {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		trial("%d bytes of %d", size, len(raw))
		if detected := sound(t, func() error { return s.read(path) }); detected != (uint64(size) < c.pages*c.pageSize) {
			t.Errorf("%d bytes of %d pages: detected %t", size, c.pages, detected)
		}
	}
}

// TestDamagedDataDirectory opens it as a node does, which waits for the disk and
// makes changes of its own: few trials, of all files.
func TestDamagedDataDirectory(t *testing.T) {
	t.Parallel()
	trial, child := inChild(t)
	if !child {
		return
	}
	s := fill(t)
	addSnapshots(t, s)
	if err := s.open(); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if err := os.CopyFS(whole, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	var files []string
	if err := filepath.WalkDir(whole, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			files = append(files, path[len(whole)+1:])
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(files) != 6 {
		t.Errorf("files: %q", files)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for _, name := range files {
		raw, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			bad := bytes.Clone(raw)
			if i < 50 {
				at, bit := rng.IntN(len(raw)), rng.IntN(8)
				trial("%s: bit %d of byte %d", name, bit, at)
				bad[at] ^= 1 << bit
			} else {
				bad = bad[:rng.IntN(len(raw))]
				trial("%s: %d bytes of %d", name, len(bad), len(raw))
			}
			s.dir = filepath.Join(t.TempDir(), fmt.Sprint(i))
			if err := os.CopyFS(s.dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.dir, name), bad, 0o600); err != nil {
				t.Fatal(err)
			}
			sound(t, s.open)
			if t.Failed() {
				t.Fatalf("%s, trial %d", name, i)
			}
			if err := os.RemoveAll(s.dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// addSnapshots adds as many snapshots as are kept.
func addSnapshots(t testing.TB, s *stored) {
	t.Helper()
	files, err := raft.NewFileSnapshotStore(s.dir, snapshotsRetained, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c := &checkedSnapshots{SnapshotStore: files, path: filepath.Join(s.dir, snapshotDir), corrupt: func(err error) { t.Error(err) }}
	_, trans := raft.NewInmemTransport("")
	conf := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "x:1"}, {Suffrage: raft.Nonvoter, ID: "b", Address: "x:2"}}}
	for i := range uint64(snapshotsRetained) {
		sink, err := c.Create(1, 400+100*i, 5+i, conf, 40, trans)
		if err != nil {
			t.Fatal(err)
		}
		state := fmt.Sprint("state ", i)
		if _, err := io.WriteString(sink, state); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		s.snapshots = append(s.snapshots, state)
	}
}
