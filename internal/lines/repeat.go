package lines

import "time"

// The pauses between the lines of a [Repeat]. The pause doubles from the first one to the longest one.
const (
	FirstPause   = 5 * time.Second
	LongestPause = time.Minute
)

// Repeat thins out the lines about a failure that lasts while a program retries. It allows the first line, and then one after
// each pause. Its zero value is ready for the next failure. It is for one goroutine.
type Repeat struct {
	pause time.Duration
	next  time.Time
}

// Allow reports whether a line may be logged now.
func (r *Repeat) Allow() bool {
	now := time.Now()
	if now.Before(r.next) {
		return false
	}
	r.pause = min(max(FirstPause, 2*r.pause), LongestPause)
	r.next = now.Add(r.pause)
	return true
}
