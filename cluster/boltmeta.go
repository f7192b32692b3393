package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
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
)

// checkMetaPages verifies both copies of a bbolt file's metadata. bbolt itself
// goes on with the older one when the newer is damaged: the last transaction, a
// vote or an acknowledged entry, would be undone without a word. A crash leaves
// both whole, as each lies within one disk sector.
func checkMetaPages(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return err // empty: bbolt is about to initialize it
	}
	for page := range int64(2) {
		var meta [boltMetaSize]byte
		_, err := f.ReadAt(meta[:], page*int64(os.Getpagesize())+boltPageHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", path, err)
		}
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:boltMetaSum])
		if binary.NativeEndian.Uint32(meta[:]) != boltMagic || binary.NativeEndian.Uint64(meta[boltMetaSum:]) != sum.Sum64() {
			return &CorruptError{Path: path, Reason: fmt.Sprintf("checksum mismatch in metadata page %d", page)}
		}
	}
	return nil
}
