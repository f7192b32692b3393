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
	fixed := make([]byte, min(size, int64(fixedBytes)))
	if _, err := r.ReadAt(fixed, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.HasPrefix(fixed, []byte(magic)) {
		return nil, ErrForeign
	}
	if size < int64(fixedBytes+sumBytes) {
		return nil, damaged("%d bytes", size)
	}
	version, length := binary.BigEndian.Uint32(fixed[len(magic):]), int64(binary.BigEndian.Uint32(fixed[len(magic)+4:]))
	if version > format {
		return nil, fmt.Errorf("%w (format %d, known: %d)", ErrFuture, version, format)
	}
	b := &Backup{Bytes: size}
	if err := b.verify(r); err != nil {
		return nil, err
	}
	// From here on, all bytes are as they were written, unless the sum was forged.
	end := size - int64(sumBytes)
	at := int64(fixedBytes)
	if version == 0 || length > maxHeaderBytes || at+length > end {
		return nil, damaged("format %d, header of %d bytes", version, length)
	}
	var err error
	if b.Header, err = readHeader(io.NewSectionReader(r, at, length)); err != nil {
		return nil, err
	}
	at += length
	b.State, err = fsm.ReadState(io.NewSectionReader(r, at, end-at), supported)
	if newer, ok := errors.AsType[*fsm.NewerError](err); ok { // advice for a data directory
		return nil, fmt.Errorf("%w (fsm_version %d, known: %d)", ErrFuture, newer.Used, newer.Known)
	}
	switch {
	case errors.Is(err, fsm.ErrUnknownCommand):
		return nil, fmt.Errorf("%w (%w)", ErrFuture, err)
	case errors.Is(err, fsm.ErrCorrupt):
		return nil, damaged("%v", err)
	case err != nil:
		return nil, err
	}
	return b, nil
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
