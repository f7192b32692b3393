package allocator

import "time"

// LaneStatus is the state of a lane.
type LaneStatus struct {
	Lane        int       // index, from 0
	Worker      uint64    // meaningful if Token is not 0
	Token       uint64    // fencing token; 0 if the lane holds no worker now
	From, Until int64     // window, in ticks; 0 without a worker
	ServeUntil  time.Time // end of the window; zero without a worker
	Last        time.Time // start of the tick of the last ID; zero if none was issued under this grant
	Idle        bool      // the worker was released because no caller used the lane; a caller that finds no ID wakes it
	Failing     bool      // the last request for a window was refused or not answered, and none was granted since
	Problem     string    // reason that the lane cannot issue, or that its window is not extended; empty if none
	Cause       error     // error whose text is Problem
}

// Lanes returns the state of each lane, in the order of their indexes.
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
