package thrift

import (
	"bufio"
	"context"
	"errors"
	"fmt"
)

var errReadOnly = errors.New("the transport of a request is only read")

// source is the transport of a request. It bounds the request and never reads beyond it.
type source struct {
	reader *bufio.Reader
	left   int // bytes that the request may still have
}

// Read implements thrift.TTransport.
func (s *source) Read(p []byte) (n int, err error) {
	if s.left == 0 {
		return 0, fmt.Errorf("%w: the message is longer than its frame, or than %d bytes", errStrange, maxMessage)
	}
	n, err = s.reader.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// skip discards the rest of a frame after its message.
func (s *source) skip() error {
	_, err := s.reader.Discard(s.left)
	return err
}

// RemainingBytes implements thrift.TTransport.
func (s *source) RemainingBytes() uint64 { return uint64(s.left) } //nolint:gosec // never negative

// The other methods of thrift.TTransport.

func (*source) Write([]byte) (int, error)   { return 0, errReadOnly }
func (*source) Flush(context.Context) error { return nil }
func (*source) Open() error                 { return nil }
func (*source) IsOpen() bool                { return true }
func (*source) Close() error                { return nil }
