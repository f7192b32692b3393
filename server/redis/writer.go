package redis

import (
	"net"
	"sync"
	"sync/atomic"

	clients "github.com/snowraft/snowraft/server/conn"
)

// Bounds for unread answers. Beyond maxUnread, and while the caller or all clients hold all memory that they may, the server stops
// serving a client. Many clients send a whole pipeline before they read any answer, and would wait forever for a server that waits
// for them. Each connection may exceed the bounds by the answers before its next flush, about maxAnswerBytes. Clients that read
// their answers therefore make progress while other clients do not.
const (
	maxUnread  = 16 << 20 // bytes per client; about a million answers to INCR
	writeBytes = 64 << 10 // bytes per write, so that progress shows whether the client reads
)

// writer sends answers. It keeps the bytes that the system does not take at once. A goroutine sends these bytes and exists
// only while there are any.
type writer struct {
	s    *Server
	net  net.Conn
	slot *clients.Conn // counts the bytes; nil without limits

	try *tryWriter // nil over TLS

	// blockedSince is the beat since which the client has taken nothing, plus 1; 0 if no answers wait for the client.
	blockedSince atomic.Int64
	progress     chan struct{} // holds an item after a part was sent

	mu      sync.Mutex
	unread  [][]byte // waiting bytes, in parts of up to writeBytes that are freed one by one
	size    int      // bytes waiting and being sent
	sending bool
	failed  error
}

func newWriter(s *Server, nc net.Conn, slot *clients.Conn) *writer {
	return &writer{s: s, net: nc, slot: slot, try: newTryWriter(nc), progress: make(chan struct{}, 1)}
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
		w.slot.Sent(n)
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
	return w.keep(b)
}

func (w *writer) keep(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
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
func (w *writer) wait() error { return w.await(maxUnread, true) }

// drain waits until all bytes have been sent or sending has failed.
func (w *writer) drain() error { return w.await(-1, false) }

// await waits until at most so many bytes are unread, and if room is set until there is memory for more, or sending has ended.
func (w *writer) await(most int, room bool) error {
	for w.blocked() {
		returned, full := w.slot.Full()
		w.mu.Lock()
		sending, size, failed := w.sending, w.size, w.failed
		w.mu.Unlock()
		if !sending || size <= most && !(room && full) {
			return failed
		}
		select {
		case <-w.progress:
		case <-returned:
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
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
	w.slot.Charge(int64(by))
}

// send sends the waiting bytes, and returns when there are none.
func (w *writer) send() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.failed == nil && len(w.unread) > 0 {
		part := w.unread[0]
		w.unread[0] = nil
		w.unread = w.unread[1:]
		w.mu.Unlock()
		_, err := w.net.Write(part)
		w.mu.Lock()
		w.blockedSince.Store(w.s.beats.Load() + 1)
		w.failed = err
		w.resize(-len(part))
		w.progressed()
	}
	w.unread = nil
	w.resize(-w.size) // bytes lost after a failure
	w.sending = false
	w.blockedSince.Store(0)
	w.progressed()
}

func (w *writer) progressed() {
	select {
	case w.progress <- struct{}{}:
	default:
	}
}
