// Package broadcast wakes goroutines that wait for a change.
package broadcast

import "sync"

// Signal wakes all goroutines that wait for it. Its zero value is ready for use, and its methods may be called from any
// goroutine.
type Signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// Next returns a channel that is closed at the next Send.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Send wakes the goroutines that wait now.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
