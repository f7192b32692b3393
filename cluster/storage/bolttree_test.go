package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDamagedPagesAreDetected checks that each kind of damage is detected and named correctly.
func TestDamagedPagesAreDetected(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(fill(t).dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	c := soundFile(t, raw)
	page := func(kind uint16, id uint64) boltPage {
		data := raw[id*c.pageSize:]
		h := readBoltHeader(data)
		return boltPage{kind: kind, count: h.count, data: data[:(1+h.overflow)*c.pageSize]}
	}
	put16, put32, put64 := binary.NativeEndian.PutUint16, binary.NativeEndian.PutUint32, binary.NativeEndian.PutUint64
	root := page(boltLeaf, c.root)
	confValue, logsValue := root.element(0).value, root.element(1).value
	conf := boltPage{kind: boltLeaf, count: 3, data: confValue[boltBucketSize:]}
	branch := page(boltBranch, binary.NativeEndian.Uint64(logsValue))
	first, second := page(boltLeaf, branch.element(0).child), page(boltLeaf, branch.element(1).child)
	last := page(boltLeaf, branch.element(branch.count-1).child)
	var large boltPage
	for i := range branch.count {
		if p := page(boltLeaf, branch.element(i).child); len(p.data) > int(c.pageSize) {
			large = p
		}
	}
	free := page(boltFreelist, c.freelist)
	at := func(p boltPage, element uint64) []byte { return p.data[boltPageHeader+element*boltElementSize:] }

	for name, d := range map[string]struct {
		change func()
		reason string
	}{
		"order":                 {func() { copy(first.element(2).key, first.element(1).key) }, "comes after key"},
		"too low":               {func() { clear(second.element(0).key) }, "is not from"},
		"too high":              {func() { first.element(first.count - 1).key[0] = 1 }, "is not from"},
		"branch order":          {func() { copy(branch.element(2).key, branch.element(1).key) }, "is not from"},
		"fewer elements":        {func() { put16(last.data[10:], uint16(last.count-1)) }, "one after the other"},
		"no elements":           {func() { put16(last.data[10:], 0) }, "says that it has none"},
		"no pages below":        {func() { clear(branch.data[10:12]); clear(at(branch, 0)[:boltElementSize]) }, "no pages below it"},
		"many elements":         {func() { put16(last.data[10:], 0xFFFF) }, "room for"},
		"large value":           {func() { put32(at(last, last.count-1)[12:], 1<<31) }, "an element is larger"},
		"no key":                {func() { put32(at(last, 0)[8:], 0) }, "one after the other"},
		"position":              {func() { put32(at(branch, 1), 1<<31) }, "one after the other"},
		"fewer further pages":   {func() { put32(large.data[12:], 0) }, "an element is larger"},
		"more further pages":    {func() { put32(first.data[12:], 1) }, "larger than its elements|used twice"}, // depends on the type of the next page
		"too many pages":        {func() { put32(last.data[12:], 1<<31) }, "further pages"},
		"number":                {func() { last.data[0]++ }, "says that it is"},
		"type":                  {func() { put16(last.data[8:], 4) }, "is of type"},
		"no page":               {func() { put64(at(branch, 0)[8:], c.pages) }, fmt.Sprintf("page %d of %d", c.pages, c.pages)},
		"metadata page":         {func() { put64(at(branch, 0)[8:], 1) }, "page 1 of"},
		"twice":                 {func() { copy(at(branch, 1)[8:16], at(branch, 0)[8:16]) }, "used twice"},
		"circle":                {func() { copy(at(branch, 0)[8:16], logsValue[:8]) }, "used twice"},
		"log entry is a bucket": {func() { at(last, 0)[0] = 1 }, "in bucket logs"},
		"value for a bucket":    {func() { at(root, 1)[0] = 0 }, "is not a bucket"},
		"other bucket":          {func() { root.element(1).key[3]++ }, "its buckets are not"},
		"other value":           {func() { conf.element(0).key[7]++ }, "in bucket conf"},
		"fewer values":          {func() { confValue[boltBucketSize+10]-- }, "one after the other"},
		"not inline":            {func() { put64(confValue, 5) }, "bucket conf has"},
		"inline number":         {func() { confValue[boltBucketSize]++ }, "has no leaf page"},
		"inline":                {func() { put64(logsValue, 0) }, "bucket logs is cut off"},
		"free list type":        {func() { put16(free.data[8:], boltLeaf) }, "list of free pages, is of type"},
		"free list is long":     {func() { put16(free.data[10:], 0xFFFE) }, "free pages of"},
		"free list is longer":   {func() { put16(free.data[10:], boltManyFree); put64(free.data[16:], 1<<62) }, "free pages of"},
		"free list is short":    {func() { put16(free.data[10:], uint16(free.count-1)) }, "neither used nor free"},
		"free page":             {func() { put64(free.data[16:], c.pages) }, "free page "},
		"free and used":         {func() { copy(free.data[16:24], logsValue[:8]) }, "used twice"},
	} {
		whole := bytes.Clone(raw)
		d.change()
		err := checkBytes(raw)
		copy(raw, whole)
		corrupt, ok := errors.AsType[*CorruptError](err)
		if !ok || !regexp.MustCompile(d.reason).MatchString(corrupt.Reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.tree(2, boltMaxDepth, nil, nil, nil); err == nil {
		t.Error("a tree may be of any height")
	}
}
