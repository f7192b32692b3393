package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
)

// journalName is the name of the journal's file in a run's directory.
const journalName = "history.jsonl"

// Journal writes the lines of a run. Its methods may be called from any goroutine. The file keeps the
// order of the calls of Add.
type Journal struct {
	mu   sync.Mutex // guards the fields below
	file *os.File
	w    *bufio.Writer
	err  error // first error of Add

	seen    map[string]Seen // keyed by sequence name
	relaxed map[string]bool // keyed by sequence name

	templates []string // patterns

	jobs map[string]int64 // greatest backfill job that a client started, -1 for none; keyed by layouts with a past
}

// Create creates the journal in a run's directory, which must exist. It returns an error if there is a journal already.
func Create(dir string) (*Journal, error) {
	f, err := os.OpenFile(filepath.Join(dir, journalName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	return &Journal{file: f, w: bufio.NewWriterSize(f, 1<<16), seen: make(map[string]Seen), relaxed: make(map[string]bool), jobs: make(map[string]int64)}, nil
}

// Add writes a line. Close returns the first error.
func (j *Journal) Add(l Line) {
	raw, err := json.Marshal(l)
	j.mu.Lock()
	defer j.mu.Unlock()
	if l.Op != nil {
		j.see(l.Op)
	}
	if l.Sequence != nil {
		j.relaxed[l.Sequence.Name] = l.Sequence.Mode == ModeRelaxed
	}
	if l.Layout != nil && l.Layout.Past {
		j.jobs[l.Layout.Name] = -1
	}
	if l.Template != nil {
		j.templates = append(j.templates, l.Template.Pattern)
	}
	if err == nil {
		_, err = j.w.Write(append(raw, '\n'))
	}
	if j.err == nil {
		j.err = err
	}
}

// Close writes the buffered lines and closes the file. The error includes the first error of Add.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := errors.Join(j.err, j.w.Flush(), j.file.Close()); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// longestLine is the greatest length of a journal line in bytes.
const longestLine = 16 << 20

// Lines reads the journal of a run. The iteration ends after an error.
func Lines(dir string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f, err := os.Open(filepath.Join(dir, journalName))
		if err != nil {
			yield(Line{}, fmt.Errorf("read history: %w", err))
			return
		}
		defer f.Close() //nolint:errcheck // read only
		readLines(f, yield)
	}
}

func readLines(r io.Reader, yield func(Line, error) bool) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<16), longestLine)
	for number := 1; s.Scan(); number++ {
		var l Line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			yield(Line{}, fmt.Errorf("read history: line %d: %w", number, err))
			return
		}
		if !yield(l, nil) {
			return
		}
	}
	if err := s.Err(); err != nil {
		yield(Line{}, fmt.Errorf("read history: %w", err))
	}
}
