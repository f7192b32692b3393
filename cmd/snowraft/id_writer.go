package main

import (
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// idWriter writes IDs, or UUIDs, as they come, as text or within a JSON document.
type idWriter struct {
	listWriter
	key      string // of the list in the document
	encoding snowflake.Encoding
}

func newIDWriter(out *printer, encoding snowflake.Encoding) *idWriter {
	return &idWriter{listWriter: newListWriter(out), key: "ids", encoding: encoding}
}

func newUUIDWriter(out *printer) *idWriter {
	w := newIDWriter(out, snowflake.Decimal)
	w.key = "uuids"
	return w
}

// write writes the IDs of ranges, flushes them and returns how many they are.
func (w *idWriter) write(ranges []*snowraftv1.IdRange) (n uint64) {
	for _, r := range ranges {
		id := r.GetFirst()
		for range r.GetCount() {
			w.one(id)
			id += r.GetStep()
		}
		n += uint64(r.GetCount())
	}
	w.flush()
	return n
}

// writeTexts writes what needs no quoting, and flushes it.
func (w *idWriter) writeTexts(texts []string) {
	for _, text := range texts {
		w.begin()
		w.buf = append(w.buf, text...)
		w.end()
	}
	w.flush()
}

func (w *idWriter) one(id uint64) {
	w.begin()
	w.buf = w.encoding.Append(w.buf, id)
	w.end()
}

func (w *idWriter) begin() {
	w.buf = w.buf[:0]
	if !w.json {
		return
	}
	if w.any {
		w.buf = append(w.buf, ',')
	} else {
		w.buf = append(append(append(w.buf, `{"`...), w.key...), `":[`...) // not before the first: a failure prints nothing
	}
	w.buf = append(w.buf, '"')
}

func (w *idWriter) end() {
	last := byte('\n')
	if w.json {
		last = '"'
	}
	w.any = true
	_, _ = w.w.Write(append(w.buf, last)) // bufio remembers the error for flush
}
