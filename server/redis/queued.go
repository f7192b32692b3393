package redis

import "sync"

// Limits of queued commands, in bytes.
const (
	maxQueued    = 256 << 10         // each connection
	maxQueuedAll = 64 << 20          // all connections together
	maxQueuedOwn = maxQueuedAll >> 3 // the connections of each token
)

// queuedBytes counts the bytes of commands in transactions. A token gets an eighth, so that it leaves room for others.
type queuedBytes struct {
	mu  sync.Mutex
	all int
	own map[uint64]int // keyed by token ID; 0 for connections without a token
	one bool           // all connections have one owner: an open cluster
}

// take counts n bytes of an owner if there is room for them, and reports whether there was.
func (q *queuedBytes) take(owner uint64, n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all+n > maxQueuedAll || !q.one && q.own[owner]+n > maxQueuedOwn {
		return false
	}
	q.all += n
	q.own[owner] += n
	return true
}

// give returns bytes that take counted.
func (q *queuedBytes) give(owner uint64, n int) {
	if n == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all -= n
	if q.own[owner] -= n; q.own[owner] == 0 {
		delete(q.own, owner)
	}
}
