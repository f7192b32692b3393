package frontend

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/web"
)

const (
	// maxAnswers bounds the memory of a process for large answers, in bytes. maxAnswersOfOne is the bound for one connection.
	// The largest possible answer is smaller than both.
	maxAnswers      = 256 << 20
	maxAnswersOfOne = maxAnswers / 2
	// freeBytes is the size of the largest answer that does not count.
	freeBytes = 64 << 10
	// budgetWait is the longest time that a call waits for the memory of its answer. After that time, the server closes every
	// connection that holds memory and has sent less than freeBytes during the wait.
	budgetWait = 5 * time.Second
)

// budget bounds the memory of large answers, from before an answer is made until it is sent. Without a bound, a client that
// sends small calls and reads no answers could use up all memory.
type budget struct {
	all  *semaphore.Weighted
	each int64

	mu      sync.Mutex
	holding map[*account]struct{} // connections that hold memory for large answers
}

func newBudget(all, each int64) *budget {
	return &budget{all: semaphore.NewWeighted(all), each: each, holding: make(map[*account]struct{})}
}

// account tracks the memory of a connection's large answers.
type account struct {
	of    *budget
	own   *semaphore.Weighted
	conn  *apiConn // nil for HTTP, where answers have a deadline
	guard sync.Mutex
	held  int64
	ended bool
}

func (b *budget) account(conn *apiConn) *account {
	return &account{of: b, own: semaphore.NewWeighted(b.each), conn: conn}
}

// lease is memory for an answer.
type lease struct {
	of   *account
	size int64 // bytes held
}

// take returns a lease of size bytes, or of the bound for one connection if that is smaller.
func (a *account) take(ctx context.Context, size int64) (*lease, error) {
	size = min(size, a.of.each)
	if a.own.TryAcquire(size) {
		if a.of.all.TryAcquire(size) {
			return a.hold(size), nil
		}
		a.own.Release(size)
	}
	before := a.of.progress()
	waiting, cancel := context.WithTimeout(ctx, budgetWait)
	defer cancel()
	err := a.own.Acquire(waiting, size)
	if err == nil {
		if err = a.of.all.Acquire(waiting, size); err == nil {
			return a.hold(size), nil
		}
		a.own.Release(size)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	a.of.closeStalled(before)
	return nil, rpc.NewError(rpc.Overloaded, fmt.Sprintf("no memory for a response of up to %d bytes, because clients do not read their responses; try again later, or request less", size))
}

func (a *account) hold(size int64) *lease {
	a.guard.Lock()
	defer a.guard.Unlock()
	if a.ended { // the answer will not be sent
		a.of.all.Release(size)
		return &lease{of: a}
	}
	if a.held == 0 {
		a.of.note(a, true)
	}
	a.held += size
	return &lease{of: a, size: size}
}

// keep reduces a lease to n bytes and returns the rest of its memory.
func (l *lease) keep(n int64) {
	a := l.of
	a.guard.Lock()
	defer a.guard.Unlock()
	back := l.size - n
	if a.ended || back <= 0 {
		return
	}
	l.size = n
	a.giveBack(back)
	a.own.Release(back)
}

// giveBack returns size bytes to the budget. Requires a.guard.
func (a *account) giveBack(size int64) {
	if a.held -= size; a.held == 0 {
		a.of.note(a, false)
	}
	a.of.all.Release(size)
}

// end returns all memory of the connection. gRPC drops the answers of a closed connection silently.
func (a *account) end() {
	a.guard.Lock()
	defer a.guard.Unlock()
	if !a.ended && a.held > 0 {
		a.giveBack(a.held)
	}
	a.ended = true
}

// during takes memory for the answer to an HTTP request until the answer has been written.
func (b *budget) during(ctx context.Context, size int64) error {
	if size <= freeBytes {
		return nil
	}
	l, err := b.account(nil).take(ctx, size)
	if err != nil {
		return err
	}
	answered := web.Answered(ctx) // outlives the deadline of the call
	if answered == nil {
		answered = ctx
	}
	context.AfterFunc(answered, func() { l.keep(0) })
	return nil
}

func (b *budget) note(a *account, holds bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if holds {
		b.holding[a] = struct{}{}
	} else {
		delete(b.holding, a)
	}
}

// progress returns the number of bytes sent by each connection that holds memory.
func (b *budget) progress() map[*account]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := make(map[*account]int64, len(b.holding))
	for a := range b.holding {
		if a.conn != nil {
			sent[a] = a.conn.sent.Load()
		}
	}
	return sent
}

// closeStalled closes the connections that hold memory and have sent less than freeBytes since an earlier call of progress.
func (b *budget) closeStalled(since map[*account]int64) {
	for a, now := range b.progress() {
		if before, ok := since[a]; ok && now-before < freeBytes {
			_ = a.conn.Close()
		}
	}
}
