package redis

import (
	"net"
	"sync"
	"sync/atomic"
)

// Bounds for unread answers. Beyond them, the server stops serving a client. Many clients send a whole pipeline before they
// read any answer, and would wait forever for a server that waits for them. Each connection may exceed both bounds by the
// answers before its next flush, about maxAnswerBytes. Clients that read their answers therefore make progress while other
// clients do not.
const (
	maxUnread    = 16 << 20  // bytes per client; about a million answers to INCR
	maxUnreadAll = 256 << 20 // bytes of all clients
	writeBytes   = 64 << 10  // bytes per write, so that progress shows whether the client reads
)

// writer sends answers. It keeps the bytes that the system does not take at once. A goroutine sends these bytes and exists
// only while there are any.
type writer struct {
	s   *Server
	net net.Conn

	try *tryWriter // nil over TLS

	// blockedSince is the beat since which the client has taken nothing, plus 1; 0 if no answers wait for the client.
	blockedSince atomic.Int64

	// The following fields are guarded by the budget's mutex.
	changed *sync.Cond
	unread  [][]byte // waiting bytes, in parts of up to writeBytes that are freed one by one
	size    int      // bytes waiting and being sent
	sending bool
	failed  error
}

func newWriter(s *Server, nc net.Conn) *writer {
	w := &writer{s: s, net: nc, try: newTryWriter(nc)}
	w.changed = sync.NewCond(&s.answers.mu)
	return w
}

// blocked reports whether answers wait for the client.
func (w *writer) blocked() bool { return w.blockedSince.Load() != 0 }

// write sends b, or keeps a copy for sending later. It does not wait for the client.
func (w *writer) write(b []byte) error {
	if !w.blocked() && w.try != nil {
		n, err := w.try.write(b)
		if err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
	return w.keep(b)
}

func (w *writer) keep(b []byte) error {
	budget := w.s.answers
	budget.mu.Lock()
	defer budget.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	w.resize(len(b))
	w.append(b)
	if !w.sending {
		w.sending = true
		w.blockedSince.Store(w.s.beats.Load() + 1)
		go w.send()
	}
	return nil
}

// wait waits for the client while too many bytes are unread.
func (w *writer) wait() error {
	if !w.blocked() {
		return nil
	}
	budget := w.s.answers
	budget.mu.Lock()
	defer budget.mu.Unlock()
	for w.sending && (w.size > maxUnread || budget.full()) {
		budget.wait(w)
	}
	return w.failed
}

func (w *writer) append(b []byte) {
	for len(b) > 0 {
		last := len(w.unread) - 1
		if last < 0 || len(w.unread[last]) == writeBytes {
			w.unread = append(w.unread, nil)
			last++
		}
		n := min(len(b), writeBytes-len(w.unread[last]))
		w.unread[last] = append(w.unread[last], b[:n]...)
		b = b[n:]
	}
}

func (w *writer) resize(by int) {
	w.size += by
	w.s.answers.add(by)
}

// send sends the waiting bytes, and returns when there are none.
func (w *writer) send() {
	budget := w.s.answers
	budget.mu.Lock()
	defer budget.mu.Unlock()
	for w.failed == nil && len(w.unread) > 0 {
		part := w.unread[0]
		w.unread[0] = nil
		w.unread = w.unread[1:]
		budget.mu.Unlock()
		_, err := w.net.Write(part)
		budget.mu.Lock()
		w.blockedSince.Store(w.s.beats.Load() + 1)
		w.failed = err
		w.resize(-len(part))
		w.changed.Broadcast()
	}
	w.unread = nil
	w.resize(-w.size) // bytes lost after a failure
	w.sending = false
	w.blockedSince.Store(0)
	w.changed.Broadcast()
}

// drain waits until all bytes have been sent or sending has failed.
func (w *writer) drain() error {
	budget := w.s.answers
	budget.mu.Lock()
	defer budget.mu.Unlock()
	for w.sending {
		w.changed.Wait()
	}
	return w.failed
}
