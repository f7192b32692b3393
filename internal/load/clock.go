package load

import "time"

// now returns the time. It is the only function of the package that reads the clock.
func now() time.Time { return time.Now() }
