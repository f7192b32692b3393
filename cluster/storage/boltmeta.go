package storage

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"
)

// A bbolt file begins with two pages that each hold a copy of its metadata, the
// older and the newer; see meta and page in go.etcd.io/bbolt/internal/common.
const (
	boltPageHeader = 16
	boltMetaSum    = 56 // offset of the checksum, FNV-1a over all before it
	boltMetaSize   = boltMetaSum + 8
	boltMagic      = 0xED0CDAED
	boltVersion    = 2
	// bbolt's page size is that of the system that made the file; these are
	// the sizes that bbolt looks for.
	boltMinPage = 1 << 10
	boltMaxPage = 1 << 24
	// boltNoFreelist stands where the page of the free list would.
	boltNoFreelist = 1<<64 - 1
)

// boltMeta is the metadata page of a bbolt file: the places of its content.
type boltMeta struct {
	pageSize uint64 // bytes
	root     uint64 // page of the root bucket
	freelist uint64 // first page of the list of free pages, or boltNoFreelist
	pages    uint64 // how many pages are in use or free: all page numbers are less
	tx       uint64 // the transaction that wrote it
}

// checkBolt verifies the structure of a bbolt file that raft-boltdb wrote,
// before bbolt opens it. A file that is absent or empty is fine: bbolt makes it.
//
// Errors: CorruptError; those of reading it.
func checkBolt(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	c := &boltFile{path: path, file: f, size: uint64(max(0, info.Size()))}
	if err := c.readMetas(); err != nil {
		return err
	}
	return c.check()
}

// readMetas verifies both copies of the metadata and takes the newer. bbolt
// itself goes on with the older one when the newer is damaged: the last
// transaction, a vote or an acknowledged entry, would be undone without a word.
// A crash leaves both whole, as each lies within one disk sector.
func (c *boltFile) readMetas() error {
	first, err := c.readMeta(0, 0)
	if err != nil {
		return err
	}
	second, err := c.readMeta(1, first.pageSize)
	if err != nil {
		return err
	}
	if first.pageSize != second.pageSize {
		return c.damaged("pages of %d and of %d bytes", first.pageSize, second.pageSize)
	}
	c.boltMeta = first
	if second.tx > first.tx {
		c.boltMeta = second
	}
	return nil
}

func (c *boltFile) readMeta(page, offset uint64) (boltMeta, error) {
	var raw [boltMetaSize]byte
	err := c.readAt(raw[:], offset+boltPageHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return boltMeta{}, err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(raw[:boltMetaSum])
	if binary.NativeEndian.Uint32(raw[:]) != boltMagic || binary.NativeEndian.Uint64(raw[boltMetaSum:]) != sum.Sum64() {
		return boltMeta{}, c.damaged("checksum mismatch in metadata page %d", page)
	}
	if v := binary.NativeEndian.Uint32(raw[4:]); v != boltVersion {
		return boltMeta{}, c.damaged("version %d of the file format", v)
	}
	m := boltMeta{
		pageSize: uint64(binary.NativeEndian.Uint32(raw[8:])),
		root:     binary.NativeEndian.Uint64(raw[16:]),
		freelist: binary.NativeEndian.Uint64(raw[32:]),
		pages:    binary.NativeEndian.Uint64(raw[40:]),
		tx:       binary.NativeEndian.Uint64(raw[48:]),
	}
	if m.pageSize < boltMinPage || m.pageSize > boltMaxPage || m.pageSize&(m.pageSize-1) != 0 {
		return boltMeta{}, c.damaged("pages of %d bytes", m.pageSize)
	}
	return m, nil
}
