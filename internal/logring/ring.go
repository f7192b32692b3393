// Package logring keeps the last lines of a log in memory. It keeps their attributes separately, so that a debug archive can
// include only the attributes that it knows. The main type is [Ring].
package logring

import (
	"encoding/binary"
	"log/slog"
	"sync"
	"time"
)

// The bounds of a [Ring].
const (
	MaxLines = 10_000  // lines that Lines returns
	MaxBytes = 4 << 20 // memory for encoded lines, in bytes
)

const (
	chunkBytes = 64 << 10
	// maxLine bounds the bytes of a log line, and maxText the bytes of its message and of each value. Longer texts are cut.
	maxLine = chunkBytes / 2
	maxText = 8 << 10
)

// Line is a line of the log. The ring cuts the message and each value to 8 KiB, and omits attributes that would make the line
// longer than 32 KiB.
type Line struct {
	Time    time.Time
	Level   slog.Level
	Message string
	Attrs   []Attr
}

// Attr is an attribute of a log line. Its key begins with the keys of its groups, separated by dots.
type Attr struct {
	Key   string
	Value string
	Plain bool // a number, a boolean value, a time or a duration
}

// Ring keeps the last MaxLines lines, or fewer if these are longer than MaxBytes. It allocates memory in chunks as lines arrive,
// and then reuses the chunks. Its methods are safe for concurrent use.
type Ring struct {
	mu     sync.Mutex
	chunks []*chunk // oldest first
	lines  int
}

// chunk holds complete lines, each after its length.
type chunk struct {
	buf   []byte
	lines int
}

// New returns an empty ring.
func New() *Ring { return new(Ring) }

// add copies an encoded line of at most maxLine bytes.
func (r *Ring) add(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last *chunk
	if n := len(r.chunks); n > 0 {
		last = r.chunks[n-1]
	}
	if last == nil || len(last.buf)+binary.MaxVarintLen32+len(line) > chunkBytes {
		last = r.next()
	}
	last.buf = binary.AppendUvarint(last.buf, uint64(len(line)))
	last.buf = append(last.buf, line...)
	last.lines++
	r.lines++
}

// next appends an empty chunk and returns it. It reuses the chunk of the oldest lines if the ring no longer needs them. Requires
// r.mu.
func (r *Ring) next() *chunk {
	var c *chunk
	for n := len(r.chunks); n > 0 && (r.lines-r.chunks[0].lines >= MaxLines || n >= MaxBytes/chunkBytes); n = len(r.chunks) {
		c = r.chunks[0]
		r.lines -= c.lines
		r.chunks = append(r.chunks[:0], r.chunks[1:]...)
	}
	if c == nil {
		c = &chunk{buf: make([]byte, 0, chunkBytes)}
	}
	c.buf, c.lines = c.buf[:0], 0
	r.chunks = append(r.chunks, c)
	return c
}

// Lines returns copies of the kept lines, at most the last MaxLines, the oldest first. Logging waits only while Lines copies
// their bytes.
func (r *Ring) Lines() []Line {
	r.mu.Lock()
	var all []byte
	for _, c := range r.chunks {
		all = append(all, c.buf...)
	}
	skip, count := max(r.lines-MaxLines, 0), min(r.lines, MaxLines)
	r.mu.Unlock()
	lines := make([]Line, 0, count)
	for len(all) > 0 {
		size, n := binary.Uvarint(all)
		if skip--; skip < 0 {
			lines = append(lines, decode(all[n:n+int(size)])) //nolint:gosec // at most maxLine
		}
		all = all[n+int(size):] //nolint:gosec // at most maxLine
	}
	return lines
}
