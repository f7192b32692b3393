package allocator

import "sync/atomic"

// signal wakes all goroutines that wait for a change of the lanes. Get the channel
// first, look at the lanes then, so that no change is missed in between.
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
