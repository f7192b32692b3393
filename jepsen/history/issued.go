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

// Issued is a range of Count IDs that a client received: First, First + Step, and so on.
type Issued struct {
	First, Step  uint64
	Op           uint64 // ID of the Op in the journal; 0 for none
	Call, Return int64  // times of the Op
	Count        uint32 // at least 1
	Start        uint32 // start of the issuing process; 0 if unknown
	Session      uint32 // session of the Op
	Client       uint32
}

// Last returns the last ID of the range.
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

// ParseIssued reads a record from the first IssuedSize bytes of b. It panics if b is shorter.
// It returns an error if the range is empty, has several IDs and step 0, or exceeds 64 bits.
func ParseIssued(b []byte) (Issued, error) {
	u64 := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(b[40+4*i:]) }
	i := Issued{
		First: u64(0), Step: u64(1), Op: u64(2), Call: int64(u64(3)), Return: int64(u64(4)),
		Count: u32(0), Start: u32(1), Session: u32(2), Client: u32(3),
	}
	switch {
	case i.Count == 0:
		return Issued{}, errors.New("range of IDs is empty")
	case i.Count > 1 && (i.Step == 0 || i.Step > (^uint64(0)-i.First)/uint64(i.Count-1)):
		return Issued{}, fmt.Errorf("range of %d IDs from %d in steps of %d: step 0 or beyond 64 bits", i.Count, i.First, i.Step)
	}
	return i, nil
}

// idsDir is the directory of the binary files within a run's directory.
const idsDir = "ids"

// Writer writes the IDs of one layout. Its methods may be called from any goroutine.
type Writer struct {
	mu   sync.Mutex
	file *os.File
	w    *bufio.Writer
	err  error
}

// CreateIDs creates a file for IDs of a layout in a run's directory. Each writer of a layout has its own number.
func CreateIDs(dir, layout string, number int) (*Writer, error) {
	dir = filepath.Join(dir, idsDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create ID file: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%s.%d.bin", layout, number)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create ID file: %w", err)
	}
	return &Writer{file: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

// Add writes a record. Close returns the first error.
func (w *Writer) Add(i Issued) {
	var buf [IssuedSize]byte
	raw := i.Append(buf[:0])
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(raw); err != nil && w.err == nil {
		w.err = err
	}
}

// Flush writes the buffered records to the file.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Flush()
}

// Close writes the buffered records and closes the file. The error includes the first error of Add.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := errors.Join(w.err, w.w.Flush(), w.file.Close()); err != nil {
		return fmt.Errorf("write ID file: %w", err)
	}
	return nil
}

// IDFiles returns the sorted paths of a run's ID files, by layout.
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
			return nil, fmt.Errorf("ID file %s: expected a name LAYOUT.N.bin", p)
		}
		files[layout] = append(files[layout], p)
	}
	return files, nil
}

// ReadIDs reads a file of IDs. A killed process may leave an incomplete last record, which is ignored: the process
// had not yet reported its operation. The iteration ends after an error.
func ReadIDs(path string) iter.Seq2[Issued, error] {
	return func(yield func(Issued, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Issued{}, fmt.Errorf("read ID file: %w", err))
			return
		}
		defer f.Close() //nolint:errcheck // read only
		r := bufio.NewReaderSize(f, 1<<18)
		var buf [IssuedSize]byte
		for number := 0; ; number++ {
			if _, err := io.ReadFull(r, buf[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return
			} else if err != nil {
				yield(Issued{}, fmt.Errorf("read ID file: %w", err))
				return
			}
			i, err := ParseIssued(buf[:])
			if err != nil {
				yield(Issued{}, fmt.Errorf("read ID file %s: record %d: %w", path, number, err))
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}
