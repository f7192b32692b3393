package storage

import (
	"encoding/binary"
)

// Pages and elements as bbolt writes them, in the byte order of the machine:
//
//	page:           number 8, type 2, count of elements 2, count of further pages that belong to it 4
//	leaf element:   flags 4, position 4, size of the key 4, size of the value 4
//	branch element: position 4, size of the key 4, page below 8
//
// The elements follow the header. Their keys and values follow the elements in the same order without a gap. A position counts
// from the start of its own element.
const (
	boltBranch   = 0x01
	boltLeaf     = 0x02
	boltFreelist = 0x10

	boltElementSize = 16
	boltBucketFlag  = 0x01 // flag of a leaf element whose value is a bucket
	boltBucketSize  = 16   // root page 8, sequence 8; without a root page, the page itself follows
	boltManyFree    = 0xFFFF
)

// boltPage is a leaf or a branch. layout verifies that its elements lie within it, without a gap.
type boltPage struct {
	kind  uint16
	count uint64
	data  []byte // content, with the header and the further pages that belong to it
}

// boltElement is one element of a leaf or a branch. It refers to the page's data.
type boltElement struct {
	flags      uint32
	key, value []byte
	child      uint64 // page number, in a branch
}

// boltHeader is the start of a page.
type boltHeader struct {
	id       uint64
	kind     uint16
	count    uint64
	overflow uint64
}

func readBoltHeader(raw []byte) boltHeader {
	return boltHeader{
		id:       binary.NativeEndian.Uint64(raw),
		kind:     binary.NativeEndian.Uint16(raw[8:]),
		count:    uint64(binary.NativeEndian.Uint16(raw[10:])),
		overflow: uint64(binary.NativeEndian.Uint32(raw[12:])),
	}
}

// layout verifies that the elements fill the page as bbolt fills it. It returns the number of used bytes, or a reason if the
// page is damaged. This detects a changed count, which could otherwise hide elements: the last entries of the log.
func (p boltPage) layout() (used uint64, reason string) {
	size := uint64(len(p.data))
	table := boltPageHeader + p.count*boltElementSize
	if table > size {
		return 0, "it has more elements than it has room for"
	}
	if p.count == 0 {
		for _, b := range p.data[boltPageHeader:min(size, boltPageHeader+boltElementSize)] {
			if b != 0 {
				return 0, "it has elements and says that it has none"
			}
		}
		return table, ""
	}
	used = table
	for i := range p.count {
		at := boltPageHeader + i*boltElementSize
		position, key, value := p.sizes(at)
		if at+position != used || key == 0 {
			return 0, "its elements do not lie one after the other"
		}
		used += key + value // 32 bits each, and used <= size: no overflow
		if used > size {
			return 0, "an element is larger than it"
		}
	}
	return used, ""
}

// sizes reads the position and sizes of the element at an offset.
func (p boltPage) sizes(at uint64) (position, key, value uint64) {
	if p.kind == boltLeaf {
		return p.uint32(at + 4), p.uint32(at + 8), p.uint32(at + 12)
	}
	return p.uint32(at), p.uint32(at + 4), 0
}

func (p boltPage) uint32(at uint64) uint64 { return uint64(binary.NativeEndian.Uint32(p.data[at:])) }

// element returns element i. Requires i < count and a verified layout.
func (p boltPage) element(i uint64) boltElement {
	at := boltPageHeader + i*boltElementSize
	position, key, value := p.sizes(at)
	at += position
	e := boltElement{key: p.data[at : at+key], value: p.data[at+key : at+key+value]}
	at -= position
	if p.kind == boltLeaf {
		e.flags = binary.NativeEndian.Uint32(p.data[at:])
	} else {
		e.child = binary.NativeEndian.Uint64(p.data[at+8:])
	}
	return e
}
