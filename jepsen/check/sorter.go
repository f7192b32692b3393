package check

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
)

// DefaultBudget is the default memory of a checker for sorting, in bytes.
const DefaultBudget = 256 << 20

const (
	entrySize = 16 + history.IssuedSize // bytes of an entry, in memory and in files
	fanIn     = 32                      // files merged at a time
)

// entry is a record with its sort key: first hi, then lo.
type entry struct {
	hi, lo uint64
	history.Issued
}

func compareEntries(a, b entry) int { return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo)) }

// sorter sorts more entries than fit into memory. It sorts a full buffer and writes it to a file, and merges fanIn files
// of a level into one file of the next level. The files are in a separate directory, which close removes.
type sorter struct {
	dir    string
	buffer []entry
	limit  int          // maximum length of the buffer
	levels [][]*os.File // files by the number of merges of their entries
}

// newSorter returns a sorter that takes about budget bytes of memory. Its files are in a new directory within runDir.
func newSorter(runDir string, budget int) (*sorter, error) {
	dir, err := os.MkdirTemp(runDir, "sort-")
	if err != nil {
		return nil, fmt.Errorf("sort: %w", err)
	}
	return &sorter{dir: dir, limit: max(1, budget/entrySize)}, nil
}

func (s *sorter) add(e entry) error {
	switch {
	case len(s.buffer) == s.limit:
		if err := s.spill(); err != nil {
			return err
		}
	case len(s.buffer) == cap(s.buffer): // growth by four, so that the old buffer takes little extra memory
		grown := make([]entry, len(s.buffer), min(max(4*len(s.buffer), 1024), s.limit))
		copy(grown, s.buffer)
		s.buffer = grown
	}
	s.buffer = append(s.buffer, e)
	return nil
}

// spill sorts the buffer, writes it to a file and empties it.
func (s *sorter) spill() error {
	slices.SortFunc(s.buffer, compareEntries)
	file, err := s.write(func(yield func(entry, error) bool) {
		for _, e := range s.buffer {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	s.buffer = s.buffer[:0]
	return s.keep(0, file)
}

// keep adds a file to a level. It merges a full level into a file of the next level.
func (s *sorter) keep(level int, file *os.File) error {
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], file)
	if len(s.levels[level]) < fanIn {
		return nil
	}
	merged, err := s.write(merge(s.levels[level], nil))
	if err != nil {
		return err
	}
	for _, f := range s.levels[level] {
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			return fmt.Errorf("sort: %w", err)
		}
	}
	s.levels[level] = nil
	return s.keep(level+1, merged)
}

// write writes entries to a new file and returns the file, positioned at its start.
func (s *sorter) write(entries iter.Seq2[entry, error]) (*os.File, error) {
	file, err := os.CreateTemp(s.dir, "run-")
	if err != nil {
		return nil, fmt.Errorf("sort: %w", err)
	}
	w := bufio.NewWriterSize(file, 1<<18)
	var raw []byte
	for e, err := range entries {
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		raw = binary.LittleEndian.AppendUint64(raw[:0], e.hi)
		raw = binary.LittleEndian.AppendUint64(raw, e.lo)
		if _, err := w.Write(e.Append(raw)); err != nil {
			return nil, errors.Join(fmt.Errorf("sort: %w", err), file.Close())
		}
	}
	err = w.Flush()
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sort: %w", err), file.Close())
	}
	return file, nil
}

// sorted yields all entries in ascending order. It can be called once. The iteration ends after an error.
func (s *sorter) sorted() iter.Seq2[entry, error] {
	slices.SortFunc(s.buffer, compareEntries)
	return merge(slices.Concat(s.levels...), s.buffer)
}

// close removes the sorter's files and directory.
func (s *sorter) close() error {
	var errs []error
	for _, f := range slices.Concat(s.levels...) {
		errs = append(errs, f.Close())
	}
	s.buffer, s.levels = nil, nil
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// source is a sorted file or a sorted buffer, with its current entry.
type source struct {
	entry
	r    *bufio.Reader // nil for a buffer
	rest []entry       // entries of a buffer after the current one
}

// next advances to the next entry. It returns io.EOF after the last entry.
func (s *source) next() error {
	if s.r == nil {
		if len(s.rest) == 0 {
			return io.EOF
		}
		s.entry, s.rest = s.rest[0], s.rest[1:]
		return nil
	}
	var raw [entrySize]byte
	if _, err := io.ReadFull(s.r, raw[:]); err != nil {
		return err
	}
	s.hi, s.lo = binary.LittleEndian.Uint64(raw[:]), binary.LittleEndian.Uint64(raw[8:])
	var err error
	s.Issued, err = history.ParseIssued(raw[16:])
	return err
}

// sources is a heap. Its first source has the least entry.
type sources []*source

func (s *sources) Len() int           { return len(*s) }
func (s *sources) Less(i, j int) bool { return compareEntries((*s)[i].entry, (*s)[j].entry) < 0 }
func (s *sources) Swap(i, j int)      { (*s)[i], (*s)[j] = (*s)[j], (*s)[i] }
func (s *sources) Push(any)           {} // unused: the heap only shrinks
func (s *sources) Pop() any {
	*s = (*s)[:len(*s)-1]
	return nil
}

// merge yields the entries of sorted files and of a sorted buffer in ascending order.
func merge(files []*os.File, buffer []entry) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		all := sources{{rest: buffer}}
		for _, f := range files {
			all = append(all, &source{r: bufio.NewReaderSize(f, 1<<17)})
		}
		var open sources
		for _, s := range all {
			if err := s.next(); err == nil {
				open = append(open, s)
			} else if !errors.Is(err, io.EOF) {
				yield(entry{}, fmt.Errorf("sort: %w", err))
				return
			}
		}
		heap.Init(&open)
		for len(open) > 0 {
			if !yield(open[0].entry, nil) {
				return
			}
			switch err := open[0].next(); {
			case err == nil:
				heap.Fix(&open, 0)
			case errors.Is(err, io.EOF):
				heap.Pop(&open)
			default:
				yield(entry{}, fmt.Errorf("sort: %w", err))
				return
			}
		}
	}
}
