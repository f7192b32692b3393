package serve

import (
	"context"
	"log/slog"
	"time"
)

const (
	// expiryNotice is the remaining validity of a certificate below which the log warns.
	expiryNotice = 14 * 24 * time.Hour
	// expiryInterval is the interval between warnings.
	expiryInterval = 24 * time.Hour
)

// expiry warns before and after the operator's custom certificate expires. The process keeps using an expired certificate:
// clients decide whether they accept it.
type expiry struct {
	own interface{ NotAfter() time.Time }
	now func() time.Time
	log *slog.Logger
}

// loaded logs a certificate that the process has read.
func (e expiry) loaded() {
	if !e.warn() {
		e.log.Info("custom certificate loaded", "until", e.until())
	}
}

// watch checks the certificate in use daily until ctx ends.
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

// warn logs a warning if the certificate expires soon or has expired, and reports whether it did.
func (e expiry) warn() bool {
	switch left := e.own.NotAfter().Sub(e.now()); {
	case left <= 0:
		e.log.Warn("custom certificate expired; clients may refuse it", "until", e.until())
	case left <= expiryNotice:
		e.log.Warn("custom certificate expires soon; replace its files", "until", e.until())
	default:
		return false
	}
	return true
}

func (e expiry) until() string { return e.own.NotAfter().UTC().Format(time.RFC3339) }
