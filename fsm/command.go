package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/known"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// A log entry: one byte with the format, the CRC32C of the rest, the rest.
const (
	entryFormat = 0x01
	entryHeader = 1 + 4
)

var (
	// ErrCorrupt reports that bytes differ from those that were written: the copy is damaged.
	ErrCorrupt = errors.New("corrupt data")

	// ErrUnknownCommand reports that the bytes are intact but hold something that this
	// build does not know. A newer build may know it.
	ErrUnknownCommand = errors.New("not known to this program")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the log entry for a command: one byte with the format (0x01), four
// bytes with the CRC32C (Castagnoli, big endian) of what follows, and the protobuf.
// It returns [ErrUnknownCommand] for a command that [Decode] would refuse.
func Encode(cmd *commandv1.Command) ([]byte, error) {
	if err := checkCommand(cmd); err != nil {
		return nil, err
	}
	data, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(make([]byte, entryHeader, 128), cmd)
	if err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	data[0] = entryFormat
	binary.BigEndian.PutUint32(data[1:], crc32.Checksum(data[entryHeader:], castagnoli))
	return data, nil
}

// Decode returns the command of a log entry. The error is [ErrCorrupt] if the
// framing or the checksum is wrong. It is [ErrUnknownCommand] if the command has no
// body, or if this build does not know the body or a field or enum value at any depth.
func Decode(data []byte) (*commandv1.Command, error) {
	cmd, err := decode(data)
	if err != nil {
		return nil, err
	}
	if err := checkCommand(cmd); err != nil {
		return nil, err
	}
	return cmd, nil
}

// decode is Decode for a command that may have fields which this build does not know.
func decode(data []byte) (*commandv1.Command, error) {
	if len(data) < entryHeader {
		return nil, corrupt("a log entry of %d bytes, expected at least %d", len(data), entryHeader)
	}
	if data[0] != entryFormat {
		return nil, corrupt("a log entry of format %#02x, expected %#02x", data[0], entryFormat)
	}
	want := binary.BigEndian.Uint32(data[1:])
	if got := crc32.Checksum(data[entryHeader:], castagnoli); got != want {
		return nil, corrupt("a log entry with checksum %08x, expected %08x", got, want)
	}
	cmd := &commandv1.Command{}
	if err := proto.Unmarshal(data[entryHeader:], cmd); err != nil {
		return nil, corrupt("a log entry that is no protobuf: %w", err)
	}
	return cmd, nil
}

func checkCommand(cmd *commandv1.Command) error {
	if err := known.Check(cmd.ProtoReflect()); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownCommand, err)
	}
	if _, ok := kindOf(cmd); !ok {
		return fmt.Errorf("%w: it has no body", ErrUnknownCommand)
	}
	return nil
}
