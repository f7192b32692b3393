package serve

import (
	"context"
	"log/slog"
	"time"
)

const (
	// expiryNotice is the time before the end of a certificate from which on the log warns.
	expiryNotice = 14 * 24 * time.Hour
	// expiryInterval is the time between two warnings.
	expiryInterval = 24 * time.Hour
)

// expiry warns of the end of an own certificate. The process uses the certificate until then and afterwards: clients
// judge it.
type expiry struct {
	own interface{ NotAfter() time.Time }
	now func() time.Time
	log *slog.Logger
}

// loaded logs a certificate that the process has read.
func (e expiry) loaded() {
	if !e.warn() {
		e.log.Info("own certificate loaded", "until", e.until())
	}
}

// watch judges the certificate in use daily until ctx ends.
func (e expiry) watch(ctx context.Context) {
	tick := time.NewTicker(expiryInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.warn()
		}
	}
}

// warn reports whether there is reason to warn, and warns.
func (e expiry) warn() bool {
	switch left := e.own.NotAfter().Sub(e.now()); {
	case left <= 0:
		e.log.Warn("own certificate expired; clients may refuse it", "until", e.until())
	case left <= expiryNotice:
		e.log.Warn("own certificate expires soon; replace its files", "until", e.until())
	default:
		return false
	}
	return true
}

func (e expiry) until() string { return e.own.NotAfter().UTC().Format(time.RFC3339) }
