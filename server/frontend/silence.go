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
	// maxSilent bounds the calls without a message on connections whose caller is unknown. No interceptor sees such a call, because
	// gRPC waits for the message first. A stranger can begin such calls and send nothing more.
	maxSilent = 2000
	// freeSilent bounds the calls without a message that known callers have unwatched, and freeSilentOf is the number of unwatched
	// calls that each connection has in any case. The message usually comes with the headers, and watching a call costs a twentieth
	// of it.
	freeSilent, freeSilentOf = 4096, 2
	// maxKnownSilent bounds the watched calls of known callers.
	maxKnownSilent = 4096
	// silenceLimit is the time that the message may take.
	silenceLimit = 10 * time.Second
	// maxSilences is the number of calls without a message after which the server closes their connection.
	maxSilences = 64
)

// silence bounds the calls whose message has not come. Those of strangers, on connections without a caller that may be here, are in
// a queue of their own, so that strangers end no call but theirs.
type silence struct {
	strange, known silentQueue
	free           atomic.Int64 // calls that are in no queue, including canceled ones whose connection is open
}

// silentQueue holds the watched calls. The call that is silent for longest makes way for a new one, so that a caller that begins
// many calls at once loses none.
type silentQueue struct {
	mu    sync.Mutex
	calls list.List // of *silent, the oldest first
}

// silent is a call whose message has not come.
type silent struct {
	among  *silentQueue
	conn   *apiConn
	hangUp context.CancelFunc
	ended  func() bool // no longer waits for the end of the call
	timer  *time.Timer
	at     *list.Element // nil once the message came or the call is over
}

type silentKey struct{}

// tap sees each call when its headers have come, before gRPC makes anything of it. It refuses none: gRPC would keep a timer
// for each call that it refuses here, for as long as the caller's deadline says.
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

// heard is called when the message of a unary call has come, or a stream begins.
func (q *silence) heard(ctx context.Context) {
	if call := silentOf(ctx); call != nil {
		call.heard()
		return
	}
	c := connOf(ctx)
	if c == nil {
		return
	}
	for n := c.free.Load(); n > 0; n = c.free.Load() { // none once the connection is closed
		if c.free.CompareAndSwap(n, n-1) {
			q.free.Add(-1)
			return
		}
	}
}

// closed forgets the free calls of a connection.
func (q *silence) closed(c *apiConn) { q.free.Add(-c.free.Swap(0)) }

// begin adds a call, and returns the one that makes way for it.
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

// silentOf returns a call as it was when it began; nil unless it is in a queue.
func silentOf(ctx context.Context) *silent {
	call, _ := ctx.Value(silentKey{}).(*silent)
	return call
}

// heard is called when the message has come, the caller is known or the call is over, any number of times. It reports whether the
// call was silent until now.
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

// over ends a call that is silent.
func (s *silent) over() {
	if !s.heard() {
		return
	}
	s.hangUp()
	if s.conn.silences.Add(1) >= maxSilences {
		_ = s.conn.Close()
	}
}
