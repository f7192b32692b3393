package storage

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// inChild runs the rest of a test in a child process, because a panic in a goroutine of bbolt would crash this process. The
// child describes each trial with the returned function. If the child fails, the test reports the last trial.
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

// sound runs an attempt on damaged files. It reports whether the damage was detected, and fails the test on any error other than
// a CorruptError.
func sound(t *testing.T, attempt func() error) (detected bool) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := attempt()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("the attempt used %d bytes of memory", took)
	}
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*CorruptError](err); !ok {
		t.Errorf("not detected: %v", err)
	}
	return true
}

// damage changes one byte of a file during an attempt.
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
	// A run over every bit has 100 times as many trials; none of them fails.
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

// Each changed page number leads to an intact page, often to the page that was at that place in an earlier transaction.
func TestChangedPageNumbersAreDetected(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(fill(t).dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	c := soundFile(t, raw)
	page := func(id uint64) boltPage { return boltPage{kind: boltBranch, data: raw[id*c.pageSize:]} }
	var pages []uint64 // used pages with page numbers
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

// TestDamagedDataDirectory opens a damaged data directory as a node does, which waits for the disk and makes changes. So it
// makes only few trials, but with all files.
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
		for i := range depth.Of(24, 60) {
			bad := bytes.Clone(raw)
			if i%6 < 5 {
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
