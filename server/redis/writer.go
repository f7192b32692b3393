package redis

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// How much a client may leave unread before nothing more of it is served. Many
// clients send a whole pipeline before they read any answer, and would wait for
// ever for a server that waits for them.
const (
	maxUnread    = 16 << 20  // bytes of one client; about a million answers to INCR
	maxUnreadAll = 256 << 20 // bytes of all clients
	writeBytes   = 64 << 10  // at once, so that it shows whether the client reads
)

// writer sends answers. What the system does not take at once waits, and a
// goroutine that lives as long as something waits sends it.
type writer struct {
	s   *Server
	net net.Conn

	// For writing without waiting; raw is nil where that can't be.
	raw     syscall.RawConn
	attempt func(fd uintptr) bool
	out     []byte
	n       int
	err     error

	// blockedSince is the beat since when the client has taken nothing, plus 1;
	// 0: the client does not keep it waiting.
	blockedSince atomic.Int64

	mu      sync.Mutex
	changed *sync.Cond
	unread  []byte // what waits
	size    int    // of it and of what is being sent
	sending bool
	failed  error
}

func newWriter(s *Server, nc net.Conn) *writer {
	w := &writer{s: s, net: nc}
	w.changed = sync.NewCond(&w.mu)
	if c, ok := nc.(syscall.Conn); ok && canTry {
		w.raw, _ = c.SyscallConn() // an error leaves it nil
		w.attempt = w.tryOnce
	}
	return w
}

// write sends b or keeps it to be sent. It waits for the client only if that left
// too much unread.
func (w *writer) write(b []byte) error {
	if w.blockedSince.Load() == 0 && w.raw != nil {
		w.out, w.n, w.err = b, 0, nil
		if err := w.raw.Write(w.attempt); err != nil {
			return err
		}
		if w.err != nil {
			return w.err
		}
		if b = b[w.n:]; len(b) == 0 {
			return nil
		}
	}
	return w.keep(b)
}

func (w *writer) tryOnce(fd uintptr) bool {
	w.n, w.err = tryWrite(fd, w.out)
	return true // do not wait
}

func (w *writer) keep(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.size > 0 && w.failed == nil && (w.size+len(b) > maxUnread || w.s.unread.Load() > maxUnreadAll) {
		w.changed.Wait()
	}
	if w.failed != nil {
		return w.failed
	}
	w.unread = append(w.unread, b...)
	w.resize(len(b))
	if !w.sending {
		w.sending = true
		w.blockedSince.Store(w.s.beats.Load() + 1)
		go w.send()
	}
	return nil
}

func (w *writer) resize(by int) {
	w.size += by
	w.s.unread.Add(int64(by))
}

// send sends what waits, and ends when nothing does.
func (w *writer) send() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.failed == nil && len(w.unread) > 0 {
		b := w.unread
		w.unread = nil
		for w.failed == nil && len(b) > 0 {
			part := b[:min(len(b), writeBytes)]
			w.mu.Unlock()
			_, err := w.net.Write(part)
			w.mu.Lock()
			w.blockedSince.Store(w.s.beats.Load() + 1)
			w.failed = err
			w.resize(-len(part))
			b = b[len(part):]
			w.changed.Broadcast()
		}
	}
	w.resize(-w.size) // what is lost after a failure
	w.sending = false
	w.blockedSince.Store(0)
	w.changed.Broadcast()
}

// drain waits until all was sent, or can't be.
func (w *writer) drain() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.sending {
		w.changed.Wait()
	}
	return w.failed
}
