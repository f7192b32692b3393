package trust

import (
	"context"
	"time"
)

// WatchInterval is the interval between checks of the files of secrets and certificates.
const WatchInterval = 2 * time.Second

// Reloader is a value that was read from files and can be read again, such as [Keys] and [OwnCertificate].
type Reloader interface {
	// Reload reads the files again and reports whether the value changed. An error leaves the value unchanged.
	Reload() (changed bool, err error)
}

// Watch reloads r until ctx ends: at each interval, and when now receives a value. It calls report with nil after each
// change, and with each error once until the error changes.
func Watch[T any](ctx context.Context, r Reloader, interval time.Duration, now <-chan T, report func(error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-now:
		case <-tick.C:
		}
		changed, err := r.Reload()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if changed || err != nil && text != last {
			report(err)
		}
		last = text
	}
}
