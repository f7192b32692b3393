package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/known"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Backup is the content of a backup file, or of a data directory in the form of a backup.
type Backup struct {
	Header *commandv1.BackupHeader
	State  *fsm.State
	Bytes  int64          // size of the file; 0 for a data directory
	SHA256 [sumBytes]byte // last bytes of the file; zero for a data directory
}

// Errors of [Read]. Each one advises the user on one line.
var (
	// ErrForeign reports that a file is not a backup.
	ErrForeign = errors.New("not a Snowraft backup; choose a file that \"snowraft backup\" wrote")
	// ErrDamaged reports that bytes of a backup changed or are missing.
	ErrDamaged = errors.New("damaged backup; use another copy or another backup")
	// ErrFuture reports that a newer version of this program wrote the backup.
	ErrFuture = errors.New("backup of a newer version of Snowraft; use the version that wrote the backup, or a newer one")
)

func damaged(reason string, args ...any) error {
	return fmt.Errorf("%w (%s)", ErrDamaged, fmt.Sprintf(reason, args...))
}

// Open reads and verifies a file, which must be a regular file. The error names the file; see
// [Read].
func Open(path string) (*Backup, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	b, err := Read(f, info.Size(), fsm.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Read reads and verifies a backup of size bytes. supported is the newest fsm_version to accept.
// Read compares the checksum before it decodes the header and the state.
//
// Errors: ErrForeign, ErrDamaged, ErrFuture; those of r.
func Read(r io.ReaderAt, size int64, supported uint32) (*Backup, error) {
	b := &Backup{Bytes: size}
	whole := io.NewSectionReader(r, 0, size)
	length, err := readFixed(whole, size)
	if err != nil {
		return nil, err
	}
	if err := b.verify(r); err != nil {
		return nil, err
	}
	// From here on, all bytes are as they were written, unless the sum was forged.
	if err := b.decode(io.LimitReader(whole, size-int64(fixedBytes+sumBytes)), length, supported); err != nil {
		return nil, err
	}
	return b, nil
}

// ReadStream is [Read] for a source that can be read only once: it decodes the backup before it has read the checksum, and
// returns the backup only if the checksum is correct. Next to the state, it keeps at most 2 MiB in memory.
func ReadStream(r io.Reader, size int64, supported uint32) (*Backup, error) {
	b := &Backup{Bytes: size}
	sum := sha256.New()
	content := io.TeeReader(r, sum)
	length, err := readFixed(content, size)
	if err != nil {
		return nil, err
	}
	content = io.LimitReader(content, size-int64(fixedBytes+sumBytes))
	err = b.decode(content, length, supported)
	if _, failed := io.Copy(io.Discard, content); failed != nil {
		return nil, failed
	}
	if _, short := io.ReadFull(r, b.SHA256[:]); errors.Is(short, io.EOF) || errors.Is(short, io.ErrUnexpectedEOF) {
		return nil, damaged("shorter than %d bytes", size)
	} else if short != nil {
		return nil, short
	}
	if !bytes.Equal(sum.Sum(nil), b.SHA256[:]) {
		return nil, damaged("checksum mismatch")
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// ReadHeader reads the header at the beginning of a backup of size bytes. It verifies neither the checksum nor the state.
func ReadHeader(r io.Reader, size int64) (*commandv1.BackupHeader, error) {
	length, err := readFixed(r, size)
	if err != nil {
		return nil, err
	}
	return readHeader(io.LimitReader(r, length))
}

// readFixed reads the part of a backup that precedes the header, and returns the length of the header.
func readFixed(r io.Reader, size int64) (length int64, err error) {
	fixed := make([]byte, max(0, min(size, int64(fixedBytes))))
	n, err := io.ReadFull(r, fixed)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	if !bytes.HasPrefix(fixed[:n], []byte(magic)) {
		return 0, ErrForeign
	}
	if n < fixedBytes || size < int64(fixedBytes+sumBytes) {
		return 0, damaged("%d bytes", size)
	}
	version, length := binary.BigEndian.Uint32(fixed[len(magic):]), int64(binary.BigEndian.Uint32(fixed[len(magic)+4:]))
	switch {
	case version > format:
		return 0, fmt.Errorf("%w (format %d, known: %d)", ErrFuture, version, format)
	case version == 0 || length > maxHeaderBytes || int64(fixedBytes+sumBytes)+length > size:
		return 0, damaged("format %d, header of %d bytes", version, length)
	}
	return length, nil
}

// decode reads a header of length bytes, and the state up to the end of r.
func (b *Backup) decode(r io.Reader, length int64, supported uint32) (err error) {
	if b.Header, err = readHeader(io.LimitReader(r, length)); err != nil {
		return err
	}
	b.State, err = fsm.ReadState(r, supported)
	if newer, ok := errors.AsType[*fsm.NewerError](err); ok { // advice for a data directory
		return fmt.Errorf("%w (fsm_version %d, known: %d)", ErrFuture, newer.Used, newer.Known)
	}
	switch {
	case errors.Is(err, fsm.ErrUnknownCommand):
		return fmt.Errorf("%w (%w)", ErrFuture, err)
	case errors.Is(err, fsm.ErrCorrupt):
		return damaged("%v", err)
	}
	return err
}

// verify compares the sum with all bytes before.
func (b *Backup) verify(r io.ReaderAt) error {
	end := b.Bytes - int64(sumBytes)
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(r, 0, end), make([]byte, bufferBytes)); err != nil {
		return err
	}
	if _, err := r.ReadAt(b.SHA256[:], end); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), b.SHA256[:]) {
		return damaged("checksum mismatch")
	}
	return nil
}

// readHeader reads a header and checks the fields that a restore relies on.
func readHeader(r io.Reader) (*commandv1.BackupHeader, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	h := &commandv1.BackupHeader{}
	if err := proto.Unmarshal(raw, h); err != nil {
		return nil, damaged("header: %v", err)
	}
	if err := known.Check(h.ProtoReflect()); err != nil {
		return nil, fmt.Errorf("%w (header: %w)", ErrFuture, err)
	}
	canonical, err := marshalHeader(h)
	switch {
	case err != nil || !bytes.Equal(canonical, raw):
		return nil, damaged("header: another encoding")
	case uuid.Validate(h.GetClusterId()) != nil:
		return nil, damaged("header: cluster %q", h.GetClusterId())
	case h.GetIndex() == 0 || h.GetTerm() == 0:
		return nil, damaged("header: index %d, term %d", h.GetIndex(), h.GetTerm())
	case h.GetSource() == commandv1.BackupSource_BACKUP_SOURCE_UNSPECIFIED:
		return nil, damaged("header: no source")
	case h.GetTakenAtMs() < 0 || h.GetMaxWindowMs() <= 0 || h.GetMaxClockOffsetMs() <= 0:
		return nil, damaged("header: taken at %d, windows of %d ms, offsets of %d ms", h.GetTakenAtMs(), h.GetMaxWindowMs(), h.GetMaxClockOffsetMs())
	}
	return h, nil
}
