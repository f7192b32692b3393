package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is the number of bytes that a connection holds in each direction before a writer has to wait.
const window = 64 << 10

// errUnheard is the result of a write that the reader's end does not take, because it is closed.
var errUnheard = errors.New("the other end is closed")

// half is one direction of a stream.
type half struct {
	mu      sync.Mutex
	changed sync.Cond
	bytes   []byte // written, and not read yet
	ended   bool   // the writer writes nothing more
	left    bool   // the writer closed its end
	deaf    bool   // the reader closed its end
	broken  bool   // the connection was reset

	reads, writes deadline
}

// deadline is the deadline of one side of a half.
type deadline struct {
	passed bool
	timer  *time.Timer // nil: none is set, or it has passed
}

func newHalf() *half {
	h := new(half)
	h.changed.L = &h.mu
	return h
}

func (h *half) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.deaf:
			return 0, net.ErrClosed
		case len(b) == 0:
			return 0, nil
		case h.reads.passed:
			return 0, os.ErrDeadlineExceeded
		case len(h.bytes) > 0:
			n := copy(b, h.bytes)
			h.bytes = h.bytes[n:]
			h.changed.Broadcast()
			return n, nil
		case h.broken:
			return 0, os.NewSyscallError("read", syscall.ECONNRESET)
		case h.ended:
			return 0, io.EOF
		}
		h.changed.Wait()
	}
}

func (h *half) write(b []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch room := window - len(h.bytes); {
		case h.left:
			return n, net.ErrClosed
		case h.writes.passed:
			return n, os.ErrDeadlineExceeded
		case h.ended, h.broken:
			return n, os.NewSyscallError("write", syscall.EPIPE)
		case h.deaf:
			return n, errUnheard
		case n == len(b):
			return n, nil
		case room > 0:
			taken := min(room, len(b)-n)
			h.bytes = append(h.bytes, b[n:n+taken]...)
			n += taken
			h.changed.Broadcast()
			continue
		}
		h.changed.Wait()
	}
}

// end ends the writing; leaves says that the writer also closed its end.
func (h *half) end(leaves bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.left = true, leaves
	if leaves {
		h.writes.stop()
	}
	h.changed.Broadcast()
}

// hangUp closes the reader's end, and reports whether it leaves bytes unread.
func (h *half) hangUp() (unread bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaf = true
	h.reads.stop()
	h.changed.Broadcast()
	return len(h.bytes) > 0
}

func (h *half) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = true
	h.changed.Broadcast()
}

// set sets a deadline of the half.
func (h *half) set(d *deadline, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d.stop()
	d.passed = false
	if at.IsZero() {
		return
	}
	left := time.Until(at)
	if left <= 0 {
		d.passed = true
		h.changed.Broadcast()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if d.timer == timer {
			d.passed, d.timer = true, nil
			h.changed.Broadcast()
		}
	})
	d.timer = timer
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
