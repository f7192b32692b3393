// Package screen checks strangers' bytes before the gossip and Raft libraries read them. Those libraries allocate as much as a
// message's head announces, decompress without a limit, recurse as deep as a message nests, and panic over some values.
// Screen passes only messages of the forms that members send. It checks every length, count and depth before it allocates
// anything for it, and passes a message on only when all of it has arrived and has the right form.
//
// Screen checks forms, not truth: a message of the right form may still contain lies.
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

// step is the greatest number of bytes that is allocated for bytes that have not arrived yet.
const step = 4096

// small is the greatest length, in bytes, of a message that takes no place among the large messages.
const small = 64 << 10

// scanner takes a message from its source, at most limit bytes of it.
type scanner struct {
	from  io.Reader
	limit int
	taken []byte       // bytes that were taken, in the order of the message
	large func() error // called once before more than small bytes are taken; may be nil
}

// take returns the next n bytes, which are valid until the next call.
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

// cutOff returns io.ErrUnexpectedEOF instead of io.EOF if the source ended after the message had begun.
func cutOff(err error, taken int) error {
	if errors.Is(err, io.EOF) && taken > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
