package frontend

import (
	"context"
	"sync"
	"sync/atomic"
)

// lifetime is the state of a process from its start to its end.
type lifetime struct {
	draining atomic.Bool     // readiness is off
	ending   context.Context // done when streams that carry requests must end
	end      context.CancelFunc

	once sync.Once
	done chan struct{}
	err  error          // set before done is closed
	wg   sync.WaitGroup // goroutines of the ports
}

func (l *lifetime) begin() {
	l.done = make(chan struct{})
	l.ending, l.end = context.WithCancel(context.Background())
}

// Finish notifies the owner that the process must shut down: it turns readiness off and closes the channel of Done. err
// becomes the result of Err. Calls after the first one have no effect.
func (l *lifetime) Finish(err error) {
	l.once.Do(func() {
		l.err = err
		l.draining.Store(true)
		close(l.done)
	})
}

// Done returns a channel that is closed when the process must shut down: the member left, was removed, or must not continue,
// or a port failed. The owner then calls Close.
func (l *lifetime) Done() <-chan struct{} { return l.done }

// Err returns the reason why the process must shut down; nil after a member left, and before Done is closed.
func (l *lifetime) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}
