package client

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// source is a cluster that issues the IDs from 1 on and records the time of each.
type source struct {
	delay func() time.Duration
	short uint32 // greatest length of a range; 0: no limit

	mu     sync.Mutex
	issued []time.Time // time of each ID; the ID is the index + 1
	asked  []uint64
	err    error
}

func (s *source) fetch(ctx context.Context, count uint64) ([]Range, error) {
	now := time.Now() // earliest time of the IDs
	if s.delay != nil {
		timer := time.NewTimer(s.delay())
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, count)
	if s.err != nil {
		return nil, s.err
	}
	var all []Range
	for left := uint32(count); left > 0; {
		n := left
		if s.short > 0 {
			n = min(n, 1+rand.N(s.short))
		}
		all = append(all, Range{First: int64(len(s.issued)) + 1, Count: int(n), Step: 1})
		for range n {
			s.issued = append(s.issued, now)
		}
		left -= n
	}
	return all, nil
}

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *source) calls() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]uint64(nil), s.asked...)
}

func openBuffer(t *testing.T, s *source, opts ...BufferOption) *Buffer {
	t.Helper()
	o, err := newBufferOptions(opts)
	if err != nil {
		t.Fatal(err)
	}
	return openBufferWith(t, s, o)
}

// openBufferWith opens a buffer with the options as given.
func openBufferWith(t *testing.T, s *source, o bufferOptions) *Buffer {
	t.Helper()
	b := newBuffer(s.fetch, 10*time.Second, o)
	t.Cleanup(func() { _ = b.Close() })
	return b
}
