package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// ListWriter writes a list that may be long as it comes: one element per line, or
// within a JSON document.
type ListWriter struct {
	// Opening is what precedes the first element in JSON. It is written with the first
	// element, so that a failure before it prints nothing.
	Opening string
	JSON    bool
	w       *bufio.Writer
	buf     []byte
	begun   bool  // an element was written
	err     error // of the first write that failed
}

// NewListWriter returns a writer of a list to out; opening precedes the first element in JSON.
func NewListWriter(out *Printer, opening string) *ListWriter {
	return &ListWriter{Opening: opening, JSON: out.JSON, w: bufio.NewWriterSize(out.w, 64<<10)}
}

// Add writes one element.
func (w *ListWriter) Add(text []byte) {
	w.buf = w.buf[:0]
	switch {
	case !w.JSON:
		w.buf = append(append(w.buf, text...), '\n')
	case w.begun:
		w.buf = AppendJSON(append(w.buf, ','), text)
	default:
		w.buf = AppendJSON(append(w.buf, w.Opening...), text)
	}
	w.begun = true
	_, _ = w.w.Write(w.buf) // bufio remembers the error for flush
}

// Flush passes on what was written and returns the error of the first write that failed.
func (w *ListWriter) Flush() error {
	if err := w.w.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}

// Fill adds count elements in calls for at most limit each, passes on those of each call,
// and ends the document.
func (w *ListWriter) Fill(count, limit uint64, call func(n uint32) error) error {
	for count > 0 {
		n := min(count, limit)
		failed := call(uint32(n)) //nolint:gosec // limits are far lower
		if err := cmp.Or(w.Flush(), failed); err != nil {
			return err
		}
		count -= n
	}
	return w.Close()
}

// Close ends the document and returns the error of the first write that failed.
func (w *ListWriter) Close() error {
	if w.JSON {
		_, _ = w.w.WriteString("]}\n")
	}
	return w.Flush()
}

// Complete checks that a member answered with as many elements as it was asked for.
func Complete(got uint64, want uint32, elements string) error {
	if got != uint64(want) {
		return fmt.Errorf("the member answered with %d %s, expected %d", got, elements, want)
	}
	return nil
}

// AppendJSON appends text as a JSON string.
func AppendJSON(dst, text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			var quoted bytes.Buffer
			encoder := json.NewEncoder(&quoted)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(string(text)) // neither a string nor a buffer fails
			return append(dst, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}
