package worker

import "time"

const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// pauses are the pauses before restarts. Each is twice as long as the one before. A command that ran for as long as the longest pause is
// restarted after the first one.
type pauses struct{ last time.Duration }

// next returns the pause after a command that ran for a time.
func (p *pauses) next(ran time.Duration) time.Duration {
	if p.last == 0 || ran >= longestPause {
		p.last = firstPause
	} else {
		p.last = min(2*p.last, longestPause)
	}
	return p.last
}

// rest waits before a restart. It returns the exit code after a signal; otherwise 0.
func (w *wrapper) rest(pause time.Duration) (code int) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return 0
		case s := <-w.signals:
			if ends(s) {
				return killedBy(s)
			}
		}
	}
}
