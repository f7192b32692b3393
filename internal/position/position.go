// Package position describes how far a process knows the committed history of its cluster.
package position

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Position is a point of the committed history. Two histories with equal
// terms and indexes differ in the nonce of the leadership or in the hash, so a
// Position identifies the history itself.
type Position struct {
	Cluster [16]byte // cluster ID, a UUID
	Life    uint32   // number of restores from backups that led to this cluster
	Index   uint64   // log index of the last command that is known to be committed

	// Nonce belongs to the leadership that committed the command at Index. It is
	// zero before the first leadership that recorded one.
	Nonce [16]byte

	// Hash covers all commands up to HashIndex, the last clock command at or before
	// Index. Both are zero before the first such command.
	HashIndex uint64
	Hash      [16]byte

	WindowEnd int64 // the latest end of a granted window, Unix ms; 0 if none
}

// Size is the length of an encoded [Position] in bytes.
const Size = 16 + 4 + 8 + 16 + 8 + 16 + 8

var errPosition = errors.New("invalid position")

// Append appends the encoding to b: the fields in their order, big endian.
func (p Position) Append(b []byte) []byte {
	b = append(b, p.Cluster[:]...)
	b = binary.BigEndian.AppendUint32(b, p.Life)
	b = binary.BigEndian.AppendUint64(b, p.Index)
	b = append(b, p.Nonce[:]...)
	b = binary.BigEndian.AppendUint64(b, p.HashIndex)
	b = append(b, p.Hash[:]...)
	return binary.BigEndian.AppendUint64(b, uint64(p.WindowEnd))
}

// Parse decodes what Append appended. It refuses another length, and a hash beyond
// the index.
func Parse(b []byte) (Position, error) {
	if len(b) != Size {
		return Position{}, fmt.Errorf("%w: %d bytes, expected %d", errPosition, len(b), Size)
	}
	var p Position
	b = b[copy(p.Cluster[:], b):]
	p.Life, b = binary.BigEndian.Uint32(b), b[4:]
	p.Index, b = binary.BigEndian.Uint64(b), b[8:]
	b = b[copy(p.Nonce[:], b):]
	p.HashIndex, b = binary.BigEndian.Uint64(b), b[8:]
	b = b[copy(p.Hash[:], b):]
	p.WindowEnd = int64(binary.BigEndian.Uint64(b))
	if p.HashIndex > p.Index {
		return Position{}, fmt.Errorf("%w: the hash of index %d beyond index %d", errPosition, p.HashIndex, p.Index)
	}
	return p, nil
}

// Before reports whether p is earlier than q: of an earlier life, or of the same
// life at a lower index.
func (p Position) Before(q Position) bool {
	if p.Life != q.Life {
		return p.Life < q.Life
	}
	return p.Index < q.Index
}
