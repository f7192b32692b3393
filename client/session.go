package client

import (
	"context"
	"slices"
	"sync/atomic"
)

// Session issues IDs in order: a call that begins after another has returned gets greater IDs. This holds whichever
// members serve the calls, and also if the member that served the first call has failed. Concurrent calls are in no
// order. Its methods are safe for concurrent use.
//
// A member whose clock is behind the last ID waits until its clock has passed that ID, for up to the cluster's wait
// threshold (1 s by default). If the clock is further behind, the client calls another member. If all clocks are
// further behind, calls fail with ErrClockBehind.
type Session struct {
	ids  *IDs
	last atomic.Int64
}

// Session returns a session whose IDs are all greater than after. 0 means no floor; calls fail if after is negative.
// To continue a session in another process, pass the result of [Session.Last] as its after.
func (i *IDs) Session(after int64) *Session {
	s := &Session{ids: i}
	s.last.Store(after)
	return s
}

// Last returns the greatest ID that the session has issued, or the initial floor if it has issued none.
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

// Append appends n IDs, 1 to 1,000,000, to dst in ascending order and returns the extended slice. If it fails, it
// appends none.
func (s *Session) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	have := len(dst)
	dst, err := s.ids.expand(ctx, dst, n, s.last.Load())
	if err != nil {
		return dst, err
	}
	slices.Sort(dst[have:]) // IDs of several lanes are in no order
	raise(&s.last, dst[len(dst)-1])
	return dst, nil
}
