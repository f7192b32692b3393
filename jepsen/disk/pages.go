package disk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Format of a bbolt file. It consists of pages. The first two are the metadata
// pages with the older and the newer root of a tree of buckets. See
// go.etcd.io/bbolt/internal/common.
const (
	pageHeader   = 16 // bytes: number 8, kind 2, count of elements 2, count of overflow pages 4
	pageBranch   = 1
	pageLeaf     = 2
	metaSize     = 64
	metaMagic    = 0xED0CDAED
	elementSize  = 16
	bucketFlag   = 1  // flag of a leaf's element whose value is a bucket
	bucketHeader = 16 // bytes: page of the root 8, 0 if the root page follows inline; sequence 8
)

// span is a range of used bytes of a database: content[from:to].
type span struct {
	from, to int64
	place    string // kind of the span; for an entry, the name of its bucket
	key      int64  // offset of the end of an entry's key; 0 if the span is not an entry
}

// describe returns a text for a span.
func (d *database) describe(s span) string {
	if s.key == 0 {
		return s.place
	}
	if key := d.content[s.from:s.key]; len(key) == 8 {
		return fmt.Sprintf("entry %d in bucket %s", binary.BigEndian.Uint64(key), s.place)
	}
	return fmt.Sprintf("key %q in bucket %s", d.content[s.from:s.key], s.place)
}

// database lists the used pages of a bbolt file. It omits content that earlier
// damage made implausible.
type database struct {
	content []byte
	size    int64          // bytes per page
	pages   []span         // pages in use
	entries []span         // keys with their values
	left    int64          // elements that may still be visited: a bound, because damage can make elements overlap
	seen    map[int64]bool // offsets of visited pages, because damage can make cycles
}

// readDatabase returns the used pages and entries of a bbolt file.
func readDatabase(content []byte) database {
	d := database{content: content, left: int64(len(content) / elementSize), seen: map[int64]bool{}}
	var newest uint64
	var root int64
	for _, size := range []int64{4096, 8192, 16384, 65536} {
		for page := range int64(2) {
			at := page*size + pageHeader
			if d.u32(at) != metaMagic || int64(d.u32(at+8)) != size || at+metaSize > int64(len(content)) {
				continue
			}
			d.pages = append(d.pages, span{from: page * size, to: at + metaSize, place: "metadata"})
			if tx := d.u64(at + 48); d.size == 0 || tx > newest {
				newest, root, d.size = tx, d.page(d.u64(at+16)), size
			}
		}
		if d.size != 0 {
			d.walk(root, "")
			break
		}
	}
	return d
}

// page returns the offset of a page, or -1 if the file has no such page.
func (d *database) page(number uint64) int64 {
	if size := max(d.size, 4096); number < uint64(len(d.content))/uint64(size) {
		return int64(number) * size //nolint:gosec // less than the length
	}
	return -1
}

// walk visits the tree below a page at an offset.
func (d *database) walk(at int64, bucket string) {
	if at < 0 || d.seen[at] || at+pageHeader > int64(len(d.content)) {
		return
	}
	d.seen[at] = true
	kind, count := d.u16(at+8), int64(d.u16(at+10))
	if at%d.size == 0 { // not an inline page
		to := at + d.size*(1+int64(d.u32(at+12)))
		d.pages = append(d.pages, span{from: at, to: min(to, int64(len(d.content))), place: "page"})
	}
	for i := range count {
		element := at + pageHeader + i*elementSize
		if d.left--; d.left < 0 || element+elementSize > int64(len(d.content)) {
			return
		}
		switch kind {
		case pageBranch:
			d.walk(d.page(d.u64(element+8)), bucket)
		case pageLeaf:
			d.element(element, bucket)
		}
	}
}

// element visits an element of a leaf: a bucket, or an entry of a bucket.
func (d *database) element(at int64, bucket string) {
	key := at + int64(d.u32(at+4))
	value := key + int64(d.u32(at+8))
	end := value + int64(d.u32(at+12))
	if end > int64(len(d.content)) || key == end {
		return
	}
	if d.u32(at)&bucketFlag == 0 {
		d.entries = append(d.entries, span{from: key, to: end, place: bucket, key: value})
		return
	}
	name := string(d.content[key:value])
	if root := d.u64(value); root != 0 {
		d.walk(d.page(root), name)
	} else {
		d.walk(value+bucketHeader, name)
	}
}

// An encoded entry contains the time at which the leader appended the entry. Members never read that time.
const (
	appended     = "\xaaAppendedAt\xaf" // start of the encoded time
	appendedSize = 27                   // bytes of the name and the value
)

// logByte chooses a byte of a log and describes its place: with probability 0.7 a
// byte of an entry, with 0.2 a byte of a page in use, otherwise any byte. It avoids
// the append time of entries.
func logByte(r *rand.Rand, content []byte) (int64, string) {
	d := readDatabase(content)
	s := span{to: int64(len(content)), place: "anywhere"}
	switch n := r.IntN(10); {
	case n < 7 && len(d.entries) > 0:
		s = d.entries[r.IntN(len(d.entries))]
	case n < 9 && len(d.pages) > 0:
		s = d.pages[r.IntN(len(d.pages))]
	}
	at := s.from + r.Int64N(s.to-s.from)
	if s.key > 0 {
		begin := s.key + int64(bytes.Index(content[s.key:s.to], []byte(appended)))
		for tries := 0; begin >= s.key && at >= begin && at < begin+appendedSize && tries < 100; tries++ {
			at = s.from + r.Int64N(s.to-s.from)
		}
	}
	return at, d.describe(s)
}

// usedBytes returns the offset of the end of the last page in use, 0 if no page is recognized.
func usedBytes(content []byte) (used int64) {
	d := readDatabase(content)
	for _, p := range d.pages {
		used = max(used, p.to)
	}
	return used
}

// u16, u32 and u64 return integers of the file, 0 outside of it.
func (d *database) u16(at int64) uint16 { return binary.NativeEndian.Uint16(d.bytes(at, 2)) }
func (d *database) u32(at int64) uint32 { return binary.NativeEndian.Uint32(d.bytes(at, 4)) }
func (d *database) u64(at int64) uint64 { return binary.NativeEndian.Uint64(d.bytes(at, 8)) }

// bytes returns n bytes at an offset, all zero if the range is not inside the file.
func (d *database) bytes(at, n int64) []byte {
	if at < 0 || at+n > int64(len(d.content)) {
		return make([]byte, n)
	}
	return d.content[at : at+n]
}
