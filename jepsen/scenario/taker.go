//go:build linux

package scenario

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
)

// taker takes numbers of a strict sequence without a pause, at some members at once.
type taker struct {
	key     string
	answers atomic.Int64
	highest atomic.Int64 // of the numbers that it was given
	stop    func() error
}

// take starts a taker, which ends with the script, or when it is stopped.
func (s *stage) take(key string, members ...*lab.Member) *taker {
	t := &taker{key: key}
	ctx, cancel := context.WithCancel(s.ctx)
	var clients sync.WaitGroup
	for _, m := range members {
		clients.Go(func() {
			for ctx.Err() == nil {
				if op := s.client.Next(ctx, m, key, 3, ""); !t.answered(op) {
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

// answered counts an operation; it reports whether it was done.
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

// more waits until it was answered so often again.
func (s *stage) more(t *taker, answers int64) error {
	from := t.answers.Load()
	return s.until("numbers of "+t.key, func(context.Context) bool { return t.answers.Load() >= from+answers })
}
