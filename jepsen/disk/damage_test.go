package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// dataDir makes a directory like a member's. Its log holds the entries [100, 400);
// the earlier entries were deleted.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	for name, content := range map[string]string{
		"member.json":                    `{"member_id": "a"}`,
		"lock":                           "",
		"snapshots/2-90-1/meta.json":     `{"Index": 90}`,
		"snapshots/2-90-1/state.bin":     strings.Repeat("state", 100),
		"snapshots/2-99-2.tmp/state.bin": "half",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := bbolt.Open(filepath.Join(dir, "raft.db"), 0o600, &bbolt.Options{NoFreelistSync: true, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(400) {
		err := db.Update(func(tx *bbolt.Tx) error {
			logs, err := tx.CreateBucketIfNotExists([]byte("logs"))
			if err != nil {
				return err
			}
			conf, err := tx.CreateBucketIfNotExists([]byte("conf"))
			if err != nil {
				return err
			}
			if n >= 300 {
				if err := logs.Delete(binary.BigEndian.AppendUint64(nil, n-300)); err != nil {
					return err
				}
			}
			return errors.Join(conf.Put([]byte("CurrentTerm"), binary.BigEndian.AppendUint64(nil, n)),
				logs.Put(binary.BigEndian.AppendUint64(nil, n), bytes.Repeat([]byte{byte(n)}, 200)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// FlipBit flips exactly the bit that it returns, and the same seed selects the same bit.
func TestFlipBit(t *testing.T) {
	dir := dataDir(t)
	for seed := range uint64(50) {
		for _, part := range Parts() {
			d, err := FlipBit(rand.New(rand.NewPCG(seed, 1)), dir, part)
			if err != nil {
				t.Fatal(err)
			}
			damaged := read(t, filepath.Join(dir, d.File))
			damaged[d.Offset] ^= 1 << d.Bit
			if int64(len(damaged)) != d.Size || d.Bit < 0 || d.Bit > 7 || strings.Contains(d.File, ".tmp") {
				t.Errorf("FlipBit() = %+v, want a bit of a finished part of %d bytes", d, len(damaged))
			}
			if err := os.WriteFile(filepath.Join(dir, d.File), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			again, err := FlipBit(rand.New(rand.NewPCG(seed, 1)), dir, part)
			if err != nil || again != d {
				t.Fatalf("second FlipBit() = %v, %v, want %v", again, err, d)
			}
			flipped := read(t, filepath.Join(dir, d.File))
			if different(flipped, damaged) != 1 {
				t.Fatalf("%v: %d bits differ, want 1", d, different(flipped, damaged))
			}
			if err := os.WriteFile(filepath.Join(dir, d.File), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// different returns the number of bits that differ.
func different(a, b []byte) (n int) {
	for i := range a {
		n += bits.OnesCount8(a[i] ^ b[i])
	}
	return n
}

// Most flipped bits of a log belong to entries that members read.
func TestFlipBitMostlyHitsEntries(t *testing.T) {
	dir := dataDir(t)
	path := filepath.Join(dir, "raft.db")
	whole := read(t, path)
	if d := readDatabase(whole); len(d.entries) != 301 {
		t.Errorf("readDatabase() found %d entries, want 301", len(d.entries))
	}
	want := contents(t, path)
	matters := 0
	const tries = 200
	for seed := range uint64(tries) {
		d, err := FlipBit(rand.New(rand.NewPCG(seed, 2)), dir, Log)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(d.Place, "entry") || strings.HasPrefix(d.Place, "key") {
			if contents(t, path) == want {
				t.Errorf("%v changed nothing", d)
			}
			matters++
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if matters < tries/2 || matters == tries {
		t.Errorf("%d of %d flipped bits belong to entries, want more than half but not all", matters, tries)
	}
}

// contents returns the names, keys and values of all buckets of a database.
func contents(t *testing.T, path string) string {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
			b.Write(name)
			return bucket.ForEach(func(k, v []byte) error {
				b.Write(k)
				b.Write(v)
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// No flipped bit belongs to the append time of an entry.
func TestLogByteSkipsAppendTime(t *testing.T) {
	dir := dataDir(t)
	path := filepath.Join(dir, "raft.db")
	whole := read(t, path)
	for _, e := range func() []span { d := readDatabase(whole); return d.entries }() {
		copy(whole[e.key:e.to], "\x86\xaaAppendedAt\xaf\x01\x00\x00\x00\x0e\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xa4Data")
	}
	for seed := range uint64(1000) {
		at, place := logByte(rand.New(rand.NewPCG(seed, 5)), whole)
		before := bytes.LastIndex(whole[:at+12], []byte(appended))
		if strings.HasPrefix(place, "entry") && before >= 0 && int(at) >= before && int(at) < before+27 {
			t.Errorf("logByte() = %d in %s, inside of the time at %d", at, place, before)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, part := range Parts() {
		dir := dataDir(t)
		r := rand.New(rand.NewPCG(1, 3))
		d, err := Truncate(r, dir, part)
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(len(read(t, filepath.Join(dir, d.File)))); got != d.Offset || got >= d.Size || d.Bit != -1 {
			t.Errorf("Truncate() = %v, but the file has %d bytes", d, got)
		}
		if !strings.Contains(d.String(), "cut from") {
			t.Errorf("String() = %q, want \"cut from\" in it", d)
		}
		for err == nil { // until the part is empty; its remains need not be valid
			if part == Log {
				if _, err := FlipBit(r, dir, part); err != nil {
					break
				}
			}
			_, err = Truncate(r, dir, part)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}

func TestFlipBitRejectsMissingPart(t *testing.T) {
	for _, part := range Parts() {
		if _, err := FlipBit(rand.New(rand.NewPCG(1, 1)), t.TempDir(), part); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("FlipBit() of a missing %s: %v, want ErrNotExist", part, err)
		}
	}
	if _, err := FlipBit(rand.New(rand.NewPCG(1, 1)), t.TempDir(), "nothing"); err == nil {
		t.Error("FlipBit() of an unknown part = nil error, want an error")
	}
}

func FuzzReadDatabase(f *testing.F) {
	f.Add([]byte{})
	page := make([]byte, 3*4096)
	binary.NativeEndian.PutUint32(page[16:], metaMagic)
	binary.NativeEndian.PutUint32(page[24:], 4096)
	binary.NativeEndian.PutUint64(page[32:], 2)
	page[2*4096+8], page[2*4096+10] = pageLeaf, 3
	f.Add(page)
	f.Fuzz(func(t *testing.T, content []byte) {
		d := readDatabase(content)
		for _, s := range append(d.entries, d.pages...) {
			if s.from < 0 || s.from >= s.to || s.to > int64(len(content)) {
				t.Errorf("span %+v is not inside the %d bytes", s, len(content))
			}
		}
	})
}

func TestCopyAndWipe(t *testing.T) {
	dir := dataDir(t)
	saved := filepath.Join(t.TempDir(), "a", "saved")
	if err := CopyDir(dir, saved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "later"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FlipBit(rand.New(rand.NewPCG(1, 1)), dir, Log); err != nil {
		t.Fatal(err)
	}
	if err := CopyDir(saved, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"raft.db", "member.json", "snapshots/2-90-1/state.bin"} {
		if !bytes.Equal(read(t, filepath.Join(dir, name)), read(t, filepath.Join(saved, name))) {
			t.Errorf("%s differs", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "later")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the later file exists after CopyDir: %v", err)
	}
	for range 2 {
		if err := Wipe(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory exists after Wipe: %v", err)
	}
	if err := CopyDir(dir, saved); err == nil {
		t.Error("CopyDir() of a missing directory = nil error, want an error")
	}
	read(t, filepath.Join(saved, "raft.db"))
}
