package fsm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/known"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// ReadState reads a snapshot up to the end of r and returns its state. supported is
// the newest fsm_version to accept. ReadState accepts only what [State.WriteTo] writes,
// byte for byte. The error is [ErrCorrupt] if the snapshot is damaged, cut off, out of
// order, out of range or followed by more bytes, and [ErrUnknownCommand] if a newer
// build may have written it. Next to the state, ReadState keeps one record of at most
// 1 MiB in memory.
func ReadState(r io.Reader, supported uint32) (*State, error) {
	in := &snapshotReader{from: bufio.NewReaderSize(r, snapshotBufBytes), supported: supported, sum: newRecordSum()}
	if err := in.header(); err != nil {
		return nil, err
	}
	build := &snapshotDecoder{state: NewState(), tokenNames: map[string]bool{}}
	for {
		record, err := in.next()
		if err != nil {
			return nil, err
		}
		if end := record.GetEnd(); end != nil {
			return build.finish(in, end)
		}
		if err := build.add(record); err != nil {
			return nil, fmt.Errorf("record %d of the snapshot: %w", in.sum.records, err)
		}
	}
}

// snapshotReader reads records and checks their framing.
type snapshotReader struct {
	from      *bufio.Reader
	supported uint32 // the newest fsm_version to accept
	sum       *recordSum
	buf       []byte
}

func (r *snapshotReader) header() error {
	var header [snapshotHeader]byte
	if err := r.fill(header[:]); err != nil {
		return err
	}
	format, sum := header[len(snapshotMagic):snapshotHeader-4], header[snapshotHeader-4:]
	if string(header[:len(snapshotMagic)]) != snapshotMagic {
		return corrupt("not a snapshot of Snowraft, it begins with %q", header[:len(snapshotMagic)])
	}
	if crc32.Checksum(header[:snapshotHeader-4], castagnoli) != binary.BigEndian.Uint32(sum) {
		return corrupt("the header of the snapshot has a wrong checksum")
	}
	if v := binary.BigEndian.Uint32(format); v != snapshotFormat {
		return fmt.Errorf("%w: a snapshot of format %d, expected %d", ErrUnknownCommand, v, snapshotFormat)
	}
	return nil
}

// next returns the next record, which is valid until the call after.
func (r *snapshotReader) next() (*commandv1.SnapshotRecord, error) {
	var header [recordHeader]byte
	if err := r.fill(header[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[:4])
	if length > maxRecordBytes {
		return nil, corrupt("a snapshot record of %d bytes, expected at most %d", length, maxRecordBytes)
	}
	if int(length) > cap(r.buf) {
		r.buf = make([]byte, length)
	}
	data := r.buf[:length]
	if err := r.fill(data); err != nil {
		return nil, err
	}
	want := binary.BigEndian.Uint32(header[4:])
	if got := crc32.Checksum(data, castagnoli); got != want {
		return nil, corrupt("snapshot record %d has checksum %08x, expected %08x", r.sum.records+1, got, want)
	}
	record := &commandv1.SnapshotRecord{}
	if err := proto.Unmarshal(data, record); err != nil {
		return nil, corrupt("snapshot record %d is no protobuf: %w", r.sum.records+1, err)
	}
	// The version is checked before unknown fields, because it is more useful to an operator.
	if version := record.GetMeta().GetFsmVersion(); version > r.supported {
		return nil, &NewerError{Used: version, Known: r.supported}
	}
	if err := known.Check(record.ProtoReflect()); err != nil {
		return nil, fmt.Errorf("%w: snapshot record %d: %w", ErrUnknownCommand, r.sum.records+1, err)
	}
	if record.GetEnd() == nil {
		r.sum.addBytes(data)
	}
	return record, nil
}

// end checks that nothing follows the end record.
func (r *snapshotReader) end() error {
	switch _, err := r.from.ReadByte(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("read snapshot: %w", err)
	}
	return corrupt("the snapshot continues after its end record")
}

// fill reads exactly len(data) bytes.
func (r *snapshotReader) fill(data []byte) error {
	switch _, err := io.ReadFull(r.from, data); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return corrupt("the snapshot is cut off after record %d", r.sum.records)
	case err != nil:
		return fmt.Errorf("read snapshot: %w", err)
	}
	return nil
}
