package clock

import "math"

// Stop makes each Check fail with reason, whatever the clock shows, until Resume. Both come from one goroutine.
func (w *Watch) Stop(reason error) {
	w.stopped.Store(&reason)
	w.limitAhead()
}

// Resume ends the effect of Stop.
func (w *Watch) Resume() {
	w.stopped.Store(nil)
	w.limitAhead()
}

// Stopped returns the reason of Stop; nil while the watch is not stopped.
func (w *Watch) Stopped() error {
	if reason := w.stopped.Load(); reason != nil {
		return *reason
	}
	return nil
}

// limitAhead sets mostAhead after a change of maxOffset or stopped.
func (w *Watch) limitAhead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped.Load() != nil {
		w.mostAhead.Store(math.MinInt64)
	} else {
		w.mostAhead.Store(w.maxOffset.Load())
	}
}
