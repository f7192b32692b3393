package main

import (
	"fmt"
	"strconv"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// numberWriter writes the numbers of a sequence as they come, as text or within a JSON document.
type numberWriter struct {
	listWriter
	count uint64 // in all answers
	text  []byte
}

func newNumberWriter(out *printer, count uint64) *numberWriter {
	return &numberWriter{listWriter: newListWriter(out), count: count}
}

// write writes the numbers of one answer and flushes them. It fails when the
// answer can't be understood; what goes wrong when writing is in err.
func (w *numberWriter) write(resp *snowraftv1.NextResponse) error {
	text, err := texts(resp)
	if err != nil {
		return err
	}
	if w.json && !w.any { // not before the first number: a failure prints nothing
		w.buf = appendJSON(append(w.buf[:0], `{"sequence":`...), []byte(resp.GetSequence()))
		w.buf = fmt.Appendf(w.buf, `,"first":"%d","count":"%d","increment":"%d","values":[`, resp.GetFirst(), w.count, resp.GetIncrement())
		_, _ = w.w.Write(w.buf) // bufio remembers the error for flush
	}
	number := resp.GetFirst()
	for i := range int(resp.GetCount()) {
		w.text = text(w.text[:0], i, number)
		w.one()
		number += resp.GetIncrement() // after the last number this may wrap: it is not used then
	}
	w.flush()
	return nil
}

// one writes what is in text.
func (w *numberWriter) one() {
	w.buf = w.buf[:0]
	if w.json {
		if w.any {
			w.buf = append(w.buf, ',')
		}
		w.buf = appendJSON(w.buf, w.text)
	} else {
		w.buf = append(append(w.buf, w.text...), '\n')
	}
	w.any = true
	_, _ = w.w.Write(w.buf) // bufio remembers the error for flush
}

// texts returns what appends the i-th number of an answer as it is written. Members
// write up to 1,000 numbers in an answer themselves.
func texts(resp *snowraftv1.NextResponse) (func(dst []byte, i int, number int64) []byte, error) {
	if resp.GetFormat() == "" {
		return func(dst []byte, _ int, number int64) []byte { return strconv.AppendInt(dst, number, 10) }, nil
	}
	if len(resp.GetTexts()) == int(resp.GetCount()) {
		return func(dst []byte, i int, _ int64) []byte { return append(dst, resp.GetTexts()[i]...) }, nil
	}
	format, err := sequence.ParseFormat(resp.GetFormat())
	if err != nil {
		return nil, fmt.Errorf("numbers were given out that this program can't write, expected one as new as the members: %w", err)
	}
	zone, err := sequence.LoadLocation(resp.GetTimeZone())
	if err != nil {
		return nil, fmt.Errorf("numbers were given out that this program can't write: %w", err)
	}
	at := time.UnixMilli(resp.GetTimeMs()).In(zone)
	return func(dst []byte, _ int, number int64) []byte { return format.Append(dst, number, at) }, nil
}
