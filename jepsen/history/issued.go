package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Issued is a range of IDs that a client was given: First, First + Step, and so on, Count of them.
type Issued struct {
	First, Step  uint64
	Op           uint64 // of the journal; 0 if it has none
	Call, Return int64  // as in the Op
	Count        uint32 // at least 1
	Start        uint32 // of the process that issued it; 0 if that is not known
	Session      uint32 // as in the Op
	Client       uint32
}

// Last is the last ID of the range.
func (i Issued) Last() uint64 { return i.First + uint64(i.Count-1)*i.Step }

// IssuedSize is the length of a record in bytes.
const IssuedSize = 5*8 + 4*4

// Append appends the record's bytes, little-endian.
func (i Issued) Append(b []byte) []byte {
	for _, v := range [...]uint64{i.First, i.Step, i.Op, uint64(i.Call), uint64(i.Return)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, v := range [...]uint32{i.Count, i.Start, i.Session, i.Client} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// ParseIssued reads a record from its bytes, of which there are at least IssuedSize. It
// fails if the range is empty or wraps.
func ParseIssued(b []byte) (Issued, error) {
	u64 := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(b[40+4*i:]) }
	i := Issued{
		First: u64(0), Step: u64(1), Op: u64(2), Call: int64(u64(3)), Return: int64(u64(4)),
		Count: u32(0), Start: u32(1), Session: u32(2), Client: u32(3),
	}
	switch {
	case i.Count == 0:
		return Issued{}, errors.New("a range of no IDs")
	case i.Count > 1 && (i.Step == 0 || i.Step > (^uint64(0)-i.First)/uint64(i.Count-1)):
		return Issued{}, fmt.Errorf("%d IDs from %d on in steps of %d", i.Count, i.First, i.Step)
	}
	return i, nil
}

// idsDir is where the binary files are, in a run's directory.
const idsDir = "ids"

// Writer writes the IDs of one layout. Its methods may be called from any goroutine.
type Writer struct {
	mu   sync.Mutex
	file *os.File
	w    *bufio.Writer
	err  error
}

// CreateIDs makes a file for IDs of a layout in a run's directory; number tells the
// writers of a layout apart.
func CreateIDs(dir, layout string, number int) (*Writer, error) {
	dir = filepath.Join(dir, idsDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the IDs: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%s.%d.bin", layout, number)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the IDs: %w", err)
	}
	return &Writer{file: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

// Add writes a record. Close returns what went wrong.
func (w *Writer) Add(i Issued) {
	var buf [IssuedSize]byte
	raw := i.Append(buf[:0])
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(raw); err != nil && w.err == nil {
		w.err = err
	}
}

// Flush writes what is buffered.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Flush()
}

// Close writes what is left, and returns the first error of all writing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := errors.Join(w.err, w.w.Flush(), w.file.Close()); err != nil {
		return fmt.Errorf("the IDs: %w", err)
	}
	return nil
}

// IDFiles lists the files with IDs of a run, by layout, each in a set order.
func IDFiles(dir string) (map[string][]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, idsDir, "*.bin"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	files := make(map[string][]string)
	for _, p := range paths {
		layout, _, ok := strings.Cut(filepath.Base(p), ".")
		if !ok {
			return nil, fmt.Errorf("%s: no name of a layout", p)
		}
		files[layout] = append(files[layout], p)
	}
	return files, nil
}

// ReadIDs reads a file with IDs. A record that was cut off, as a killed process leaves
// it, ends the file: the process had not told anybody of it. After an error there is
// nothing more.
func ReadIDs(path string) iter.Seq2[Issued, error] {
	return func(yield func(Issued, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Issued{}, fmt.Errorf("the IDs: %w", err))
			return
		}
		defer f.Close() //nolint:errcheck // read only
		r := bufio.NewReaderSize(f, 1<<18)
		var buf [IssuedSize]byte
		for number := 0; ; number++ {
			if _, err := io.ReadFull(r, buf[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return
			} else if err != nil {
				yield(Issued{}, fmt.Errorf("the IDs: %w", err))
				return
			}
			i, err := ParseIssued(buf[:])
			if err != nil {
				yield(Issued{}, fmt.Errorf("%s, record %d: %w", path, number, err))
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}
