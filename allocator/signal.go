package allocator

import "sync/atomic"

// signal wakes all goroutines that wait for a change of the lanes. Callers get the channel first and look at
// the lanes afterwards, so that they miss no change.
type signal struct{ ch atomic.Pointer[chan struct{}] }

func newSignal() *signal {
	s := new(signal)
	ch := make(chan struct{})
	s.ch.Store(&ch)
	return s
}

// next returns a channel that the next fire closes.
func (s *signal) next() <-chan struct{} { return *s.ch.Load() }

func (s *signal) fire() {
	ch := make(chan struct{})
	close(*s.ch.Swap(&ch))
}
