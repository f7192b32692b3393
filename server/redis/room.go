package redis

import "sync"

// room counts the memory of answers that clients have not taken, for all clients.
// Its mutex also guards what each writer keeps, so that a connection can wait for
// its own client and for the others at once. A client that reads as fast as it is
// answered never takes it.
type room struct {
	mu      sync.Mutex
	limit   int // bytes
	used    int // bytes
	waiting map[*writer]struct{}
}

func newRoom(limit int) *room { return &room{limit: limit, waiting: make(map[*writer]struct{})} }

// add counts bytes, or with a negative n returns them. The caller holds mu.
func (r *room) add(n int) {
	full := r.full()
	r.used += n
	if full && !r.full() {
		for w := range r.waiting {
			w.changed.Broadcast()
		}
	}
}

func (r *room) full() bool { return r.used > r.limit }

// reserve counts n bytes if there is room for them, and reports whether there was.
func (r *room) reserve(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used+n > r.limit {
		return false
	}
	r.add(n)
	return true
}

// release returns what reserve counted.
func (r *room) release(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(-n)
}

// wait waits until something of w changed or the room is no longer full. The
// caller holds mu.
func (r *room) wait(w *writer) {
	r.waiting[w] = struct{}{}
	w.changed.Wait()
	delete(r.waiting, w)
}
