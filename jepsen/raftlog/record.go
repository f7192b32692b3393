package raftlog

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/hashicorp/raft"
)

// The archive is a file of records. A record is the payload's length in four bytes, its CRC32C in four bytes, and the
// payload. All integers are big endian. The first byte of a payload is its kind.
const (
	recordHeader  = 4 + 4
	kindEntry     = 'e' // an entry
	kindHarvest   = 'h' // the end of a harvest: its Summary as JSON
	entryHeader   = 1 + 3*8 + 1 + 4 + 1
	longestRecord = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is an entry of one harvest.
type record struct {
	entry   Entry
	prev    uint64 // term of the entry before; 0 if the harvest does not show it or there is none
	harvest uint32
	member  string
}

func (r *record) payload() []byte {
	b := make([]byte, 0, entryHeader+len(r.member)+len(r.entry.Data))
	b = append(b, kindEntry)
	b = binary.BigEndian.AppendUint64(b, r.entry.Index)
	b = binary.BigEndian.AppendUint64(b, r.entry.Term)
	b = binary.BigEndian.AppendUint64(b, r.prev)
	b = append(b, byte(r.entry.Type))
	b = binary.BigEndian.AppendUint32(b, r.harvest)
	member := r.member[:min(len(r.member), 255)]
	b = append(b, byte(len(member))) //nolint:gosec // G115: at most 255
	b = append(b, member...)
	return append(b, r.entry.Data...)
}

func parseEntry(b []byte) (r record, dataAt int, err error) {
	if len(b) < entryHeader || len(b) < entryHeader+int(b[entryHeader-1]) {
		return record{}, 0, errors.New("truncated entry")
	}
	dataAt = entryHeader + int(b[entryHeader-1])
	return record{
		entry: Entry{
			Index: binary.BigEndian.Uint64(b[1:]), Term: binary.BigEndian.Uint64(b[9:]),
			Type: raft.LogType(b[25]), Data: b[dataAt:],
		},
		prev: binary.BigEndian.Uint64(b[17:]), harvest: binary.BigEndian.Uint32(b[26:]), member: string(b[entryHeader:dataAt]),
	}, dataAt, nil
}

// writeRecord writes a payload with its header.
func writeRecord(w io.Writer, payload []byte) error {
	var header [recordHeader]byte
	binary.BigEndian.PutUint32(header[:], uint32(len(payload))) //nolint:gosec // G115: Raft entries are far smaller
	binary.BigEndian.PutUint32(header[4:], crc32.Checksum(payload, castagnoli))
	if _, err := w.Write(header[:]); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// readRecords calls entry or harvest with each record; at is the offset of the entry's data in the file. A truncated last
// record, which a killed harness can leave, ends the file without an error.
func readRecords(path string, entry func(r record, at int64) error, harvest func(Summary)) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("archive of entries: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	in := bufio.NewReaderSize(f, 1<<18)
	for offset := int64(0); ; {
		payload, err := readPayload(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = dispatch(payload, offset+recordHeader, entry, harvest)
		}
		if err != nil {
			return fmt.Errorf("%s at byte %d: %w", path, offset, err)
		}
		offset += recordHeader + int64(len(payload))
	}
}

// readPayload returns the next payload. It returns io.EOF at the end of the file, even if the last record is truncated.
func readPayload(in io.Reader) ([]byte, error) {
	var header [recordHeader]byte
	if _, err := io.ReadFull(in, header[:]); errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, io.EOF
	} else if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size == 0 || size > longestRecord {
		return nil, fmt.Errorf("invalid record length %d", size)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(in, payload); errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, io.EOF
	} else if err != nil {
		return nil, err
	}
	if crc32.Checksum(payload, castagnoli) != binary.BigEndian.Uint32(header[4:]) {
		return nil, errors.New("checksum mismatch in a record")
	}
	return payload, nil
}

func dispatch(payload []byte, at int64, entry func(record, int64) error, harvest func(Summary)) error {
	switch payload[0] {
	case kindEntry:
		r, dataAt, err := parseEntry(payload)
		if err != nil {
			return err
		}
		return entry(r, at+int64(dataAt))
	case kindHarvest:
		var s Summary
		if err := json.Unmarshal(payload[1:], &s); err != nil {
			return err
		}
		harvest(s)
		return nil
	}
	return fmt.Errorf("unknown record kind %q", payload[0])
}
