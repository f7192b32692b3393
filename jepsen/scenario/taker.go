//go:build linux

package scenario

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
)

// taker requests numbers of the sequence orders continuously, with one client per member.
type taker struct {
	answers atomic.Int64
	highest atomic.Int64 // highest issued number
	stop    func() error
}

// take starts a taker. It stops when the script ends, or when its stop is called.
func (s *stage) take(members ...*lab.Member) *taker {
	t := new(taker)
	ctx, cancel := context.WithCancel(s.ctx)
	var clients sync.WaitGroup
	for _, m := range members {
		clients.Go(func() {
			for ctx.Err() == nil {
				if op := s.client.Next(ctx, m, orders, 3, ""); !t.answered(op) {
					history.Sleep(ctx, pollEvery)
				}
			}
		})
	}
	t.stop = s.later(func(context.Context) error {
		cancel()
		clients.Wait()
		return nil
	})
	return t
}

// answered counts an operation that succeeded, and reports whether it did.
func (t *taker) answered(op history.Op) bool {
	if op.Outcome != history.OK {
		return false
	}
	t.answers.Add(1)
	for {
		old := t.highest.Load()
		if highest(op) <= old || t.highest.CompareAndSwap(old, highest(op)) {
			return true
		}
	}
}

// more waits until t has received this many more answers.
func (s *stage) more(t *taker, answers int64) error {
	from := t.answers.Load()
	return s.until("numbers of "+orders, func(context.Context) bool { return t.answers.Load() >= from+answers })
}
