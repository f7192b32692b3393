package storage

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"
)

// A bbolt file begins with two metadata pages, an older and a newer one; see meta and page in
// go.etcd.io/bbolt/internal/common.
const (
	boltPageHeader = 16
	boltMetaSum    = 56 // offset of the checksum, FNV-1a over all bytes before it
	boltMetaSize   = boltMetaSum + 8
	boltMagic      = 0xED0CDAED
	boltVersion    = 2
	// boltMinPage and boltMaxPage are the limits of the page sizes that bbolt tries. A file has the page size of the system
	// that created it.
	boltMinPage = 1 << 10
	boltMaxPage = 1 << 24
	// boltNoFreelist takes the place of the free list's page number in a file without a free list.
	boltNoFreelist = 1<<64 - 1
)

// boltMeta is the content of a metadata page of a bbolt file.
type boltMeta struct {
	pageSize uint64 // bytes
	root     uint64 // page of the root bucket
	freelist uint64 // first page of the list of free pages, or boltNoFreelist
	pages    uint64 // number of used and free pages; all page numbers are less
	tx       uint64 // transaction that wrote the metadata
}

// checkBolt verifies the structure of a bbolt file of raft-boltdb before bbolt opens it. An absent or empty file is valid:
// bbolt creates it.
//
// Errors: CorruptError; errors of reading the file.
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

// readMetas verifies both metadata pages and takes the newer one. If the newer one is damaged, bbolt itself continues with the
// older one, which silently undoes the last transaction: a vote or an acknowledged entry. A crash leaves both intact, because
// each lies within one disk sector.
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
