package client

import (
	"context"
	"sync/atomic"
)

// Session returns IDs in order: a call that begins after another has returned gets a greater
// ID, whichever members serve them. Its methods may be called from any goroutine.
type Session struct {
	ids  *IDs
	last atomic.Uint64
}

// Session returns a session whose IDs are all greater than after; 0 is no floor. To go on
// elsewhere, pass on what [Session.Last] says there.
func (i *IDs) Session(after uint64) *Session {
	s := &Session{ids: i}
	s.last.Store(after)
	return s
}

// Last is the greatest ID of the session so far; the floor it began with if there is none.
func (s *Session) Last() uint64 { return s.last.Load() }

// Next returns an ID. It fails as [IDs.Next] does; it waits, or fails with ErrClockBehind, when the
// clock of the member that is asked is behind the last ID.
func (s *Session) Next(ctx context.Context) (uint64, error) {
	id, err := s.ids.next(ctx, s.last.Load())
	if err == nil {
		s.seen(id)
	}
	return id, err
}

func (s *Session) seen(id uint64) {
	for last := s.last.Load(); id > last; last = s.last.Load() {
		if s.last.CompareAndSwap(last, id) {
			return
		}
	}
}
