package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	magic          = "SNOWBACK"
	format         = 1
	fixedBytes     = len(magic) + 4 + 4
	maxHeaderBytes = 1 << 20
	sumBytes       = sha256.Size
	bufferBytes    = 256 << 10
)

// Write writes a backup of a state to w. The error is that of w or of state, or reports a header of more
// than 1 MiB. After an error, [Read] does not accept the written bytes.
func Write(w io.Writer, header *commandv1.BackupHeader, state io.WriterTo) error {
	raw, err := marshalHeader(header)
	if err != nil {
		return err
	}
	if len(raw) > maxHeaderBytes {
		return fmt.Errorf("header of the backup of %d bytes: expected at most %d bytes", len(raw), maxHeaderBytes)
	}
	sum := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(w, sum), bufferBytes)
	fixed := binary.BigEndian.AppendUint32([]byte(magic), format)
	fixed = binary.BigEndian.AppendUint32(fixed, uint32(len(raw))) //nolint:gosec // at most maxHeaderBytes
	_, _ = buffered.Write(fixed)                                   // bufio keeps the first error for Flush
	_, _ = buffered.Write(raw)
	if _, err := state.WriteTo(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

func marshalHeader(h *commandv1.BackupHeader) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(h)
}

// Create writes a new file durably and atomically: write gets a temporary file in the same directory,
// which gets its name once it is complete and synced. Create does not change an existing file: the error
// is then [os.ErrExist]. Only the owner can read the file. An [os.PathError] about the file has the given
// path.
func Create(path string, write func(*os.File) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return &os.PathError{Op: "create", Path: path, Err: os.ErrExist}
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: cause(err)}
	}
	defer func() {
		if err == nil {
			return
		}
		if at, ok := errors.AsType[*os.PathError](err); ok && at.Path == f.Name() {
			at.Path = path
		}
		err = errors.Join(err, ignore(os.Remove(f.Name()), os.ErrNotExist))
	}()
	if err := write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	// A link, unlike a rename, does not replace a file that another process has created meanwhile.
	if err := os.Link(f.Name(), path); err != nil {
		return &os.PathError{Op: "create", Path: path, Err: cause(err)}
	}
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// cause returns the system's error about a file, without the temporary name of the file.
func cause(err error) error {
	switch e := err.(type) { //nolint:errorlint // the functions of os return these types
	case *os.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// ignore returns nil if err is fine, otherwise err.
func ignore(err, fine error) error {
	if errors.Is(err, fine) {
		return nil
	}
	return err
}
