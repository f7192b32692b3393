package frontend

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/tap"
)

const (
	// maxSilent bounds the calls without a message on connections whose caller is unknown. No interceptor sees such a call,
	// because gRPC first waits for the message. A stranger could begin any number of such calls and send nothing more.
	maxSilent = 2000
	// freeSilent bounds the unwatched calls without a message of known callers. freeSilentOf is the number of unwatched calls
	// that each connection may always have. The message usually comes with the headers, and watching a call adds a twentieth
	// to its cost.
	freeSilent, freeSilentOf = 4096, 2
	// maxKnownSilent bounds the watched calls of known callers.
	maxKnownSilent = 4096
	// silenceLimit is the longest time until the message of a call must come.
	silenceLimit = 10 * time.Second
	// maxSilences is the number of calls without a message after which the server closes their connection.
	maxSilences = 64
)

// silence bounds the calls whose message has not come. Connections without an authorized caller have their own queue, so that
// strangers can end only strangers' calls.
type silence struct {
	strange, known silentQueue
	free           atomic.Int64 // calls in no queue, including canceled calls whose connection is open
}

// silentQueue holds the watched calls. The call that has been silent longest makes way for a new call, so that a caller that
// begins many calls at once loses none of them.
type silentQueue struct {
	mu    sync.Mutex
	calls list.List // *silent, oldest first
}

// silent is a call whose message has not come.
type silent struct {
	among  *silentQueue
	conn   *apiConn
	hangUp context.CancelFunc
	ended  func() bool // stops waiting for the end of the call
	timer  *time.Timer
	at     *list.Element // nil after the message came or the call ended
}

type silentKey struct{}

// tap sees each call when its headers have come, before gRPC processes it. It refuses no call, because gRPC would keep a
// timer for a refused call until the caller's deadline.
func (q *silence) tap(ctx context.Context, _ *tap.Info) (context.Context, error) {
	c := connOf(ctx)
	if c == nil {
		return ctx, nil
	}
	among, limit := &q.strange, maxSilent
	if c.isKnown() {
		if q.free.Load() < freeSilent || c.free.Load() < freeSilentOf {
			q.free.Add(1)
			c.free.Add(1)
			if c.gone.Load() {
				q.closed(c)
			}
			return ctx, nil
		}
		among, limit = &q.known, maxKnownSilent
	}
	ctx, hangUp := context.WithCancel(ctx)
	call := &silent{among: among, conn: c, hangUp: hangUp}
	if oldest := among.begin(ctx, call, limit); oldest != nil {
		oldest.over()
	}
	return context.WithValue(ctx, silentKey{}, call), nil
}

// heard is called when the message of a unary call has come, or when a stream begins.
func (q *silence) heard(ctx context.Context) {
	if call := silentOf(ctx); call != nil {
		call.heard()
		return
	}
	c := connOf(ctx)
	if c == nil {
		return
	}
	for n := c.free.Load(); n > 0; n = c.free.Load() { // 0 once the connection is closed
		if c.free.CompareAndSwap(n, n-1) {
			q.free.Add(-1)
			return
		}
	}
}

// closed removes the unwatched calls of a closed connection from the count.
func (q *silence) closed(c *apiConn) { q.free.Add(-c.free.Swap(0)) }

// begin adds a call to the queue. If the queue is full, it returns the oldest call, which must make way.
func (q *silentQueue) begin(ctx context.Context, call *silent, limit int) (oldest *silent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls.Len() >= limit {
		oldest = q.calls.Front().Value.(*silent)
	}
	call.at = q.calls.PushBack(call)
	call.timer = time.AfterFunc(silenceLimit, call.over)
	call.ended = context.AfterFunc(ctx, func() { call.heard() })
	return oldest
}

// silentOf returns a call's queue entry; nil if the call never was in a queue.
func silentOf(ctx context.Context) *silent {
	call, _ := ctx.Value(silentKey{}).(*silent)
	return call
}

// heard removes a call from its queue and reports whether the call was in it. It is called when the message has come, the
// caller is known or the call is over; repeated calls do nothing.
func (s *silent) heard() bool {
	if s == nil {
		return false
	}
	s.among.mu.Lock()
	defer s.among.mu.Unlock()
	if s.at == nil {
		return false
	}
	s.among.calls.Remove(s.at)
	s.at = nil
	s.timer.Stop()
	s.ended()
	return true
}

// over ends a call that is still silent.
func (s *silent) over() {
	if !s.heard() {
		return
	}
	s.hangUp()
	if s.conn.silences.Add(1) >= maxSilences {
		_ = s.conn.Close()
	}
}
