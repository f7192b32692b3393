//go:build linux && amd64

package skew

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// ownImage returns the vDSO of this process.
func ownImage(t testing.TB) (image []byte, base uint64) {
	t.Helper()
	base, size, err := mapped(os.Getpid())
	if errors.Is(err, errNoVDSO) {
		t.Skip("this process has no vDSO")
	}
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skip(err)
	}
	defer memory.Close()
	image = make([]byte, size)
	if _, err := memory.ReadAt(image, int64(base)); err != nil {
		t.Fatal(err)
	}
	return image, base
}

func TestReplaceChangesNothingElse(t *testing.T) {
	t.Parallel()
	image, base := ownImage(t)
	v, err := parse(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{symGettime, symOfDay, symTime} {
		if v.functions[name] == 0 || len(v.values[name]) != 2 { // a symbol and an alias
			t.Errorf("%s is at %d, by the symbols at %v; want two symbols", name, v.functions[name], v.values[name])
		}
	}
	patches, cells, err := v.replace(base)
	if err != nil {
		t.Fatal(err)
	}
	if cells%cellsSize != 0 {
		t.Errorf("cells are at %x, want a multiple of %d", cells, cellsSize)
	}
	changed := bytes.Clone(image)
	for i, p := range patches {
		switch at := binary.LittleEndian.Uint64(image[p.at:]); {
		case i == 0:
			if base+p.at != cells || p.at < v.free || p.at+uint64(len(p.bytes)) > uint64(len(image)) {
				t.Errorf("stub of %d bytes is at %d, want it in the free space", len(p.bytes), p.at)
			}
			if len(bytes.Trim(image[p.at:], "\x00")) != 0 {
				t.Log("stub overwrites the section headers")
			}
		case len(p.bytes) != 8 || at != v.functions[symGettime] && at != v.functions[symOfDay] && at != v.functions[symTime]:
			t.Errorf("patch at %d replaces %x by %x, want only addresses of functions replaced", p.at, at, p.bytes)
		}
		copy(changed[p.at:], p.bytes)
	}
	if _, err := parse(changed); err == nil {
		t.Error("parse() of the patched image = nil error, want an error")
	}
}

func TestReplaceRejectsSmallImage(t *testing.T) {
	t.Parallel()
	image, base := ownImage(t)
	v, err := parse(image)
	if err != nil {
		t.Fatal(err)
	}
	patches, _, err := v.replace(base)
	if err != nil {
		t.Fatal(err)
	}
	v.free = patches[0].at
	if _, _, err := v.replace(base); err != nil {
		t.Errorf("replace() with just enough space: %v", err)
	}
	v.free++
	if _, _, err := v.replace(base); err == nil || !strings.Contains(err.Error(), "free bytes") {
		t.Errorf("replace() with one byte too few: %v, want an error", err)
	}
}

// A symbol table after the loaded segment is rejected, because no program reads it.
func TestParseRejectsUnloadedSymbolTable(t *testing.T) {
	t.Parallel()
	image, _ := ownImage(t)
	v, err := parse(image)
	if err != nil {
		t.Fatal(err)
	}
	headers := binary.LittleEndian.Uint64(image[0x28:]) // e_shoff
	const typeAt, offsetAt, sizeAt, header = 4, 24, 32, 64
	for h := image[headers:]; ; h = h[header:] {
		if elf.SectionType(binary.LittleEndian.Uint32(h[typeAt:])) == elf.SHT_DYNSYM {
			from, size := binary.LittleEndian.Uint64(h[offsetAt:]), binary.LittleEndian.Uint64(h[sizeAt:])
			to := uint64(len(image)) - size
			if to < v.free {
				t.Skip("no space for another symbol table")
			}
			copy(image[to:], image[from:from+size])
			binary.LittleEndian.PutUint64(h[offsetAt:], to)
			break
		}
	}
	if _, err := parse(image); err == nil || !strings.Contains(err.Error(), "not in the loaded segment") {
		t.Errorf("parse() = %v, want \"not in the loaded segment\"", err)
	}
}

// For a corrupt image, parse does not panic. All patches are inside of the image; except
// for the symbols, they do not touch the loaded segment.
func TestCorruptImages(t *testing.T) {
	t.Parallel()
	image, base := ownImage(t)
	for n := range len(image) {
		if n < 1024 || n%64 == 0 {
			judge(t, bytes.Clone(image[:n]), base)
		}
	}
	for range 20000 {
		corrupt := bytes.Clone(image)
		for range 1 + rand.IntN(3) {
			at := rand.IntN(0x800)
			if rand.IntN(3) == 0 {
				at = rand.IntN(len(corrupt))
			}
			corrupt[at] = byte(rand.Uint32())
		}
		judge(t, corrupt, base)
	}
}

func FuzzParse(f *testing.F) {
	image, base := ownImage(f)
	f.Add(image)
	f.Add(image[:4096])
	f.Fuzz(func(t *testing.T, image []byte) {
		if len(image) <= maxImage {
			judge(t, image, base)
		}
	})
}

func judge(t *testing.T, image []byte, base uint64) {
	t.Helper()
	v, err := parse(image)
	if err != nil {
		return
	}
	patches, _, err := v.replace(base)
	if err != nil {
		return
	}
	for i, p := range patches {
		until := p.at + uint64(len(p.bytes))
		if until < p.at || until > uint64(len(image)) || (i == 0) != (p.at >= v.free) {
			t.Fatalf("patch %d of %d bytes at %d is misplaced: image has %d bytes, loaded segment %d",
				i, len(p.bytes), p.at, len(image), v.free)
		}
	}
}

func TestMappingSize(t *testing.T) {
	t.Parallel()
	const maps = "1000-2000 r--p 00000000 00:00 0  [vvar]\n7ffd1000-7ffd3000 r-xp 00000000 00:00 0  [vdso]\n"
	for _, c := range []struct {
		maps string
		base uint64
		size uint64
		want string
	}{
		{maps, 0x7ffd1000, 0x2000, ""},
		{maps, 0x1000, 0x1000, ""},
		{maps, 0x2000, 0, "no vDSO"},
		{"", 0x2000, 0, "no vDSO"},
		{"2000", 0x2000, 0, "implausible end"},
		{"2000-", 0x2000, 0, "implausible end"},
		{"2000-1000 r-xp", 0x2000, 0, "implausible end"},
		{"2000-2000 r-xp", 0x2000, 0, "implausible end"},
		{"2000-ffffffffffffffff r-xp", 0x2000, 0, "implausible end"},
		{"-\n--\nx-y z\n2000-3000", 0x2000, 0x1000, ""},
	} {
		size, err := mappingSize([]byte(c.maps), c.base)
		if size != c.size || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("mappingSize(%q, %x) = %x, %v, want %x, %q", c.maps, c.base, size, err, c.size, c.want)
		}
	}
}

func TestVDSOAddress(t *testing.T) {
	t.Parallel()
	vector := func(words ...uint64) []byte {
		var b []byte
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	for _, c := range []struct {
		auxv []byte
		want uint64
	}{
		{vector(6, 4096, atSysinfoEhdr, 0x7ffd1000, 0, 0), 0x7ffd1000},
		{vector(atSysinfoEhdr, 0, 0, 0), 0},
		{vector(atSysinfoEhdr, 1<<63), 0},
		{vector(atSysinfoEhdr), 0},
		{vector(5, atSysinfoEhdr, 4096, 7), 0},
		{nil, 0},
	} {
		if got, err := vdsoAddress(c.auxv); got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("vdsoAddress(%x) = %x, %v, want %x", c.auxv, got, err, c.want)
		}
	}
}
