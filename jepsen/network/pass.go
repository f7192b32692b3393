//go:build linux

package network

import (
	"bytes"
	"errors"
	"io"
	"net"
	"time"
)

const (
	chunkSize = 32 << 10
	// maxBytes is the greatest number of bytes in transit in one direction of a connection, far more than members send
	// within any delay.
	maxBytes = 64 << 20
)

// A chunk is the result of one read, with the time at which it is due.
type chunk struct {
	due   <-chan time.Time
	bytes []byte
	err   error // error of the read, which follows the bytes
}

// pass copies bytes from src to dst, each delayed separately: it reads further bytes while earlier ones wait. It also passes
// on the end of src, which is not an error.
func (r *relay) pass(dst, src *net.TCPConn) error {
	fresh, gone := make(chan chunk, 64), make(chan struct{})
	defer close(gone)
	r.carrying.Go(func() { r.read(src, fresh, gone) })
	var waiting []chunk
	var size int
	for {
		in := fresh
		if size >= maxBytes {
			in = nil
		}
		var due <-chan time.Time
		if len(waiting) > 0 {
			due = waiting[0].due // later chunks wait, even if due earlier
		}
		select {
		case c := <-in:
			waiting, size = append(waiting, c), size+len(c.bytes)
		case <-due:
			c := waiting[0]
			waiting, size = waiting[1:], size-len(c.bytes)
			if _, err := dst.Write(c.bytes); err != nil {
				return err
			}
			if errors.Is(c.err, io.EOF) {
				return dst.CloseWrite()
			}
			if c.err != nil {
				return c.err
			}
		case <-r.stopping.Done():
			return errStopped
		}
	}
}

// read sends the chunks that it reads to the channel. The last one has the error.
func (r *relay) read(src *net.TCPConn, fresh chan<- chunk, gone <-chan struct{}) {
	buffer := make([]byte, chunkSize)
	for {
		n, err := src.Read(buffer)
		select {
		case fresh <- chunk{due: time.NewTimer(r.wait()).C, bytes: bytes.Clone(buffer[:n]), err: err}:
		case <-gone:
			return
		}
		if err != nil {
			return
		}
	}
}
