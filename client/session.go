package client

import (
	"context"
	"slices"
	"sync/atomic"
)

// Session returns IDs in order: a call that begins after another has returned gets greater
// IDs, whichever members serve them, also after the one that served the first is gone. Calls at the same
// time are in no order. Its methods may be called from any goroutine.
//
// A member whose clock is behind the last ID waits until it has passed it, for up to a second; if
// it is further behind, another member is asked, and if all are, calls fail with ErrClockBehind.
type Session struct {
	ids  *IDs
	last atomic.Int64
}

// Session returns a session whose IDs are all greater than after; 0 means no floor, and a negative one fails the calls. To go on
// elsewhere, pass on what [Session.Last] says there.
func (i *IDs) Session(after int64) *Session {
	s := &Session{ids: i}
	s.last.Store(after)
	return s
}

// Last is the greatest ID of the session so far; the floor it began with if there is none.
func (s *Session) Last() int64 { return s.last.Load() }

// Next returns an ID. It fails as [IDs.Next] does.
func (s *Session) Next(ctx context.Context) (int64, error) {
	id, err := s.ids.next(ctx, s.last.Load())
	if err != nil {
		return 0, err
	}
	raise(&s.last, id)
	return id, nil
}

// Append appends n IDs, 1 to 1,000,000, to dst in ascending order and returns it. If it fails it appends
// none.
func (s *Session) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	have := len(dst)
	dst, err := s.ids.expand(ctx, dst, n, s.last.Load())
	if err != nil {
		return dst, err
	}
	slices.Sort(dst[have:]) // those of several lanes come in no order
	raise(&s.last, dst[len(dst)-1])
	return dst, nil
}
