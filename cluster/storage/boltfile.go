package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// boltFile verifies a bbolt file page by page. bbolt itself panics on damage. When it looks for the free pages at its start,
// it panics in its own goroutine, where no caller can recover.
//
// bbolt has no checksums over these pages, but its form leaves little room for undetected damage: pages contain their number,
// keys are in order, elements are contiguous, and every page is either used once or free. Values are not checked.
type boltFile struct {
	boltMeta
	path   string
	file   io.ReaderAt
	size   uint64
	used   []uint64 // one bit for each page: set once the page was met
	levels [][]byte // buffers, one page for each level of the tree
}

func (c *boltFile) damaged(format string, args ...any) error {
	return &CorruptError{Path: c.path, Reason: fmt.Sprintf(format, args...)}
}

// check verifies the whole file except for the metadata. Requires readMetas.
func (c *boltFile) check() error {
	if c.pages < 4 || c.pages > c.size/c.pageSize {
		return c.damaged("it is cut off: %d bytes of %d pages of %d bytes", c.size, c.pages, c.pageSize)
	}
	c.used = make([]uint64, c.pages/64+1)
	buckets := map[string][]byte{}
	if err := c.tree(c.root, 0, nil, nil, func(e boltElement) error {
		if e.flags != boltBucketFlag || len(e.value) < boltBucketSize {
			return c.damaged("%q is not a bucket", e.key)
		}
		buckets[string(e.key)] = slices.Clone(e.value)
		return nil
	}); err != nil {
		return err
	}
	// raft-boltdb creates both buckets in its first transaction.
	logs, conf := buckets["logs"], buckets["conf"]
	if (logs == nil) != (conf == nil) || len(buckets) > 2 || (len(buckets) > 0 && logs == nil) {
		return c.damaged("its buckets are not logs and conf")
	}
	if logs != nil {
		if err := errors.Join(c.bucket("logs", logs, isLogKey), c.bucket("conf", conf, isStableKey)); err != nil {
			return err
		}
	}
	return c.free()
}

func isLogKey(key []byte) bool { return len(key) == 8 }

// isStableKey reports whether raft stores a value under a name. A changed name would mean a lost vote.
func isStableKey(key []byte) bool {
	return slices.Contains([]string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"}, string(key))
}

// read reads a page with its overflow pages, and marks all of them as used. The data is valid until the next read at depth.
func (c *boltFile) read(id uint64, depth int) (boltHeader, []byte, error) {
	if id < 2 || id >= c.pages {
		return boltHeader{}, nil, c.damaged("page %d of %d", id, c.pages)
	}
	if depth == len(c.levels) {
		c.levels = append(c.levels, make([]byte, c.pageSize))
	}
	data := c.levels[depth][:c.pageSize]
	if err := c.readAt(data, id*c.pageSize); err != nil {
		return boltHeader{}, nil, err
	}
	h := readBoltHeader(data)
	if h.id != id {
		return h, nil, c.damaged("page %d says that it is page %d", id, h.id)
	}
	if h.overflow >= c.pages-id {
		return h, nil, c.damaged("page %d has %d further pages, of %d", id, h.overflow, c.pages)
	}
	for i := id; i <= id+h.overflow; i++ {
		if err := c.use(i); err != nil {
			return h, nil, err
		}
	}
	if h.overflow > 0 {
		data = slices.Grow(data, int(min(h.overflow*c.pageSize, math.MaxInt)))[:(1+h.overflow)*c.pageSize]
		c.levels[depth] = data
		if err := c.readAt(data[c.pageSize:], (id+1)*c.pageSize); err != nil {
			return h, nil, err
		}
	}
	return h, data, nil
}

// use marks a page as used or free. Each page must be marked only once.
func (c *boltFile) use(id uint64) error {
	if c.used[id/64]&(1<<(id%64)) != 0 {
		return c.damaged("page %d is used twice", id)
	}
	c.used[id/64] |= 1 << (id % 64)
	return nil
}

// free verifies the list of free pages, if the file has one: every page must be either used or free. This detects a changed
// page number, which leads to a free page; that page may be an intact page of an earlier transaction.
func (c *boltFile) free() error {
	if c.freelist == boltNoFreelist {
		return nil
	}
	h, data, err := c.read(c.freelist, 0)
	if err != nil {
		return err
	}
	if h.kind != boltFreelist {
		return c.damaged("page %d, the list of free pages, is of type %#x", c.freelist, h.kind)
	}
	data = data[boltPageHeader:]
	if h.count == boltManyFree {
		h.count = binary.NativeEndian.Uint64(data)
		data = data[8:]
	}
	if h.count > uint64(len(data))/8 {
		return c.damaged("%d free pages of %d", h.count, c.pages)
	}
	for i := range h.count {
		id := binary.NativeEndian.Uint64(data[i*8:])
		if id < 2 || id >= c.pages {
			return c.damaged("free page %d of %d", id, c.pages)
		}
		if err := c.use(id); err != nil {
			return err
		}
	}
	for id := uint64(2); id < c.pages; id++ {
		if c.used[id/64]&(1<<(id%64)) == 0 {
			return c.damaged("page %d is neither used nor free", id)
		}
	}
	return nil
}

func (c *boltFile) readAt(data []byte, offset uint64) error {
	if offset > math.MaxInt64 {
		return io.EOF
	}
	if _, err := c.file.ReadAt(data, int64(offset)); err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	return nil
}
