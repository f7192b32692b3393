package redis

import "sync"

// answerBudget bounds the memory of unread answers of all clients. Its mutex also guards the unread answers of each writer, so
// that a connection can wait for its own client and for the other clients at once. A connection whose client reads fast enough
// never takes the mutex.
type answerBudget struct {
	mu      sync.Mutex
	limit   int // bytes
	used    int // bytes
	waiting map[*writer]struct{}
}

func newAnswerBudget(limit int) *answerBudget {
	return &answerBudget{limit: limit, waiting: make(map[*writer]struct{})}
}

// add counts n bytes, or returns -n bytes if n is negative. Requires b.mu.
func (b *answerBudget) add(n int) {
	full := b.full()
	b.used += n
	if full && !b.full() {
		for w := range b.waiting {
			w.changed.Broadcast()
		}
	}
}

func (b *answerBudget) full() bool { return b.used > b.limit }

// reserve counts n bytes if they are free, and reports whether they were.
func (b *answerBudget) reserve(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit {
		return false
	}
	b.add(n)
	return true
}

// release returns bytes that reserve counted.
func (b *answerBudget) release(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(-n)
}

// wait waits until the state of w changes or the budget is no longer used up. Requires b.mu.
func (b *answerBudget) wait(w *writer) {
	b.waiting[w] = struct{}{}
	w.changed.Wait()
	delete(b.waiting, w)
}

// Limits of queued commands, in bytes.
const (
	maxQueued    = 256 << 10         // each connection
	maxQueuedAll = 64 << 20          // all connections together
	maxQueuedOwn = maxQueuedAll >> 3 // the connections of each token
)

// queueBudget bounds the commands that transactions hold. A token gets an eighth, so that the rest is free for others.
type queueBudget struct {
	mu  sync.Mutex
	all int            // bytes
	own map[uint64]int // bytes by token ID; 0 for connections without a token
	one bool           // all connections have one owner: an open cluster
}

// reserve counts n bytes of an owner if they are free, and reports whether they were.
func (b *queueBudget) reserve(owner uint64, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all+n > maxQueuedAll || !b.one && b.own[owner]+n > maxQueuedOwn {
		return false
	}
	b.all += n
	b.own[owner] += n
	return true
}

// release returns bytes that reserve counted.
func (b *queueBudget) release(owner uint64, n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= n
	if b.own[owner] -= n; b.own[owner] == 0 {
		delete(b.own, owner)
	}
}
