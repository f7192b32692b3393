// Package screen reads strangers' bytes before the libraries of gossip and Raft do. Those allocate what a
// message's head announces, decompress without an end, recurse as deep as a message nests, and panic over some
// values. Screen lets through only what members send each other: every length, count and depth is checked before
// anything is allocated for it, and a message is handed on when all of it arrived and has the right form.
//
// Screen judges forms, not truth: who has the right form may still lie.
package screen

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrRefused is wrapped by every refusal of a message, but not by errors of the connection.
var ErrRefused = errors.New("not a message of a member")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// step is the number of bytes allocated ahead of bytes that have not arrived yet.
const step = 4096

// small is the greatest length of a message that takes no place among the large ones.
const small = 64 << 10

// scanner takes a message from its source, at most limit bytes of it.
type scanner struct {
	from  io.Reader
	limit int
	taken []byte       // what was taken, in the order of the message
	large func() error // unless nil, called before more than small bytes are taken
}

// take returns the next n bytes, which are good until the next call.
func (s *scanner) take(n int) ([]byte, error) {
	if n < 0 || n > s.limit-len(s.taken) {
		return nil, refuse("longer than %d bytes", s.limit)
	}
	start := len(s.taken)
	if s.large != nil && start+n > small {
		if err := s.large(); err != nil {
			return nil, err
		}
		s.large = nil
	}
	for n > 0 {
		part := min(n, step)
		s.taken = slices.Grow(s.taken, part)
		end := len(s.taken)
		got, err := io.ReadFull(s.from, s.taken[end:end+part])
		s.taken = s.taken[:end+got]
		if err != nil {
			return nil, cutOff(err, len(s.taken))
		}
		n -= part
	}
	return s.taken[start:], nil
}

func (s *scanner) byte() (byte, error) {
	b, err := s.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// uint takes a big-endian number of n bytes.
func (s *scanner) uint(n int) (uint64, error) {
	b, err := s.take(n)
	if err != nil {
		return 0, err
	}
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v, nil
}

// cutOff keeps io.EOF for a source that ended before the message began.
func cutOff(err error, taken int) error {
	if errors.Is(err, io.EOF) && taken > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
