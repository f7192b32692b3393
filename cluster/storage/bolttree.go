package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// boltMaxDepth bounds the height of a tree of pages. Each branch has at least two pages below it, so no file is large enough
// for a tree of this height.
const boltMaxDepth = 48

// bucket verifies a bucket without nested buckets, whose keys are all known. A small bucket is a page inside its own value.
func (c *boltFile) bucket(name string, value []byte, known func(key []byte) bool) error {
	check := func(e boltElement) error {
		if e.flags != 0 || !known(e.key) {
			return c.damaged("key %q in bucket %s", e.key, name)
		}
		return nil
	}
	root := binary.NativeEndian.Uint64(value)
	if root != 0 {
		if len(value) != boltBucketSize {
			return c.damaged("bucket %s has %d bytes", name, len(value))
		}
		return c.tree(root, 0, nil, nil, check)
	}
	value = value[boltBucketSize:]
	if len(value) < boltPageHeader {
		return c.damaged("bucket %s is cut off", name)
	}
	h := readBoltHeader(value)
	p := boltPage{kind: h.kind, count: h.count, data: value}
	if h.id != 0 || h.kind != boltLeaf || h.overflow != 0 {
		return c.damaged("bucket %s has no leaf page", name)
	}
	used, reason := p.layout()
	if reason == "" && used != uint64(len(value)) {
		reason = "it is larger than its elements"
	}
	if reason != "" {
		return c.damaged("bucket %s: %s", name, reason)
	}
	return c.elements("bucket "+name, p, nil, nil, func(e boltElement, _ []byte) error { return check(e) })
}

// tree verifies the pages from a root down and calls leaf with each element of the leaves. Keys must be at least low, and less
// than high unless high is nil.
func (c *boltFile) tree(id uint64, depth int, low, high []byte, leaf func(boltElement) error) error {
	if depth == boltMaxDepth {
		return c.damaged("page %d is %d levels below the root", id, depth)
	}
	p, err := c.page(id, depth)
	if err != nil {
		return err
	}
	if p.kind == boltBranch && p.count == 0 {
		return c.damaged("page %d has no pages below it", id)
	}
	return c.elements(fmt.Sprint("page ", id), p, low, high, func(e boltElement, next []byte) error {
		if p.kind == boltLeaf {
			return leaf(e)
		}
		return c.tree(e.child, depth+1, e.key, next, leaf)
	})
}

// elements verifies the keys of a page and calls each with every element. next is the exclusive upper bound of the keys below
// that element; nil if there is none.
func (c *boltFile) elements(name string, p boltPage, low, high []byte, each func(e boltElement, next []byte) error) error {
	var last []byte
	for i := range p.count {
		e := p.element(i)
		switch {
		case i > 0 && bytes.Compare(e.key, last) <= 0:
			return c.damaged("%s: key %x comes after key %x", name, e.key, last)
		case bytes.Compare(e.key, low) < 0, high != nil && bytes.Compare(e.key, high) >= 0:
			return c.damaged("%s: key %x is not from %x to before %x", name, e.key, low, high)
		}
		last = e.key
		next := high
		if i+1 < p.count {
			next = p.element(i + 1).key
		}
		if err := each(e, next); err != nil {
			return err
		}
	}
	return nil
}

// page reads and verifies a leaf or a branch. It is valid until the next page of its level is read.
func (c *boltFile) page(id uint64, depth int) (boltPage, error) {
	h, data, err := c.read(id, depth)
	if err != nil {
		return boltPage{}, err
	}
	if h.kind != boltLeaf && h.kind != boltBranch {
		return boltPage{}, c.damaged("page %d is of type %#x", id, h.kind)
	}
	p := boltPage{kind: h.kind, count: h.count, data: data}
	used, reason := p.layout()
	if reason == "" && used < h.overflow*c.pageSize {
		reason = "it is larger than its elements"
	}
	if reason != "" {
		return boltPage{}, c.damaged("page %d: %s", id, reason)
	}
	return p, nil
}
