package frontend

import (
	"container/list"
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/tap"
)

const (
	// maxSilent bounds the calls without a message on connections whose caller is unknown. No interceptor sees such a call,
	// as gRPC waits for the message first: anyone can begin them and send nothing more.
	maxSilent = 2000
	// silenceLimit is the time that the message may take.
	silenceLimit = 10 * time.Second
	// maxSilences is how many calls of a connection may end for their silence before the connection does.
	maxSilences = 64
)

// silence has the calls whose message has not come, on connections that have not shown a caller who may be here. The call that
// is silent for longest makes way for a new one, so that callers who begin many calls at once lose none.
type silence struct {
	mu    sync.Mutex
	calls list.List // of *silent, the oldest first
}

// silent is a call whose message has not come.
type silent struct {
	among  *silence
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
	if c == nil || c.spoken.Load() {
		return ctx, nil
	}
	ctx, hangUp := context.WithCancel(ctx)
	call := &silent{among: q, conn: c, hangUp: hangUp}
	if oldest := q.begin(ctx, call); oldest != nil {
		oldest.over()
	}
	return context.WithValue(ctx, silentKey{}, call), nil
}

// begin adds a call, and returns the one that makes way for it.
func (q *silence) begin(ctx context.Context, call *silent) (oldest *silent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls.Len() >= maxSilent {
		oldest = q.calls.Front().Value.(*silent)
	}
	call.at = q.calls.PushBack(call)
	call.timer = time.AfterFunc(silenceLimit, call.over)
	call.ended = context.AfterFunc(ctx, func() { call.heard() })
	return oldest
}

// silentOf returns a call as it was when it began; nil if its caller was known.
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
