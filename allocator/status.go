package allocator

import "time"

// LaneStatus is the state of a lane.
type LaneStatus struct {
	Lane        int
	Worker      uint64 // meaningful when Token is not 0
	Token       uint64 // 0: the lane holds no worker now
	From, Until int64  // ticks
	ServeUntil  time.Time
	Last        time.Time // start of the tick of the last ID; zero if none was issued under this grant
	Idle        bool      // the worker was released because no caller used the lane; a caller that finds no ID wakes it
	Failing     bool      // the last request for a window was refused or not answered, and none was granted since
	Problem     string    // reason that the lane cannot issue, or that its window is not extended; empty if none
	Cause       error     // error whose text is Problem
}

// Lanes returns the state of each lane.
func (i *Issuer) Lanes() []LaneStatus {
	status := make([]LaneStatus, len(i.lanes))
	now, limits := i.watch.Now(), i.watch.Limits()
	for k, l := range i.lanes {
		s := &status[k]
		s.Lane = k
		l.mu.Lock()
		if held := l.held(); held != nil {
			s.Worker, s.Token = held.worker, held.token
			s.From, s.Until, s.ServeUntil = held.from, held.until(), held.endsAt()
			s.Last = held.lastAt()
		}
		s.Idle = l.idle
		problem := l.problem
		s.Failing = problem != nil && !l.waiting
		if err := i.check(now); err != nil {
			problem = err
		}
		if problem == nil && !l.idle {
			problem = l.readiness(now, limits)
		}
		l.mu.Unlock()
		if problem != nil {
			s.Problem, s.Cause = problem.Error(), problem
		}
	}
	return status
}

// Ready returns nil if a lane could issue now, or within a tick if it is only saturated; otherwise the reason.
// It takes no ID.
func (i *Issuer) Ready() error {
	if i.closing.Load() {
		return ErrClosed
	}
	now, limits := i.watch.Now(), i.watch.Limits()
	if err := i.check(now); err != nil {
		return err
	}
	var reason error
	for _, l := range i.lanes {
		l.mu.Lock()
		err := l.readiness(now, limits)
		l.mu.Unlock()
		if err == nil {
			return nil
		}
		if reason == nil {
			reason = err
		}
	}
	return reason
}
