package redis

import "sync"

// room counts the memory of unread answers of all clients. Its mutex also guards the unread answers of each writer, so that a
// connection can wait for its own client and for the other clients at once. A connection whose client reads fast enough never
// takes the mutex.
type room struct {
	mu      sync.Mutex
	limit   int // bytes
	used    int // bytes
	waiting map[*writer]struct{}
}

func newRoom(limit int) *room { return &room{limit: limit, waiting: make(map[*writer]struct{})} }

// add counts n bytes, or returns -n bytes if n is negative. Requires r.mu.
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

// release returns bytes that reserve counted.
func (r *room) release(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(-n)
}

// wait waits until the state of w changes or the room is no longer full. Requires r.mu.
func (r *room) wait(w *writer) {
	r.waiting[w] = struct{}{}
	w.changed.Wait()
	delete(r.waiting, w)
}
