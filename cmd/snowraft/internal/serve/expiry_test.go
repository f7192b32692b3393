package serve

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

// fixedEnd is a certificate that expires at a fixed time.
type fixedEnd struct{ atomic.Pointer[time.Time] }

func (f *fixedEnd) NotAfter() time.Time { return *f.Load() }

func (f *fixedEnd) in(d time.Duration) {
	end := time.Now().Add(d)
	f.Store(&end)
}

// From 14 days before the operator's certificate expires, the log warns once per day until a new certificate is loaded.
func TestOwnCertificateExpiryIsJudgedDaily(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var log clitest.Buffer
		own := new(fixedEnd)
		own.in(20*day + time.Hour)
		e := expiry{own, time.Now, slog.New(slog.NewTextHandler(&log, nil))}
		e.loaded()
		go e.watch(ctx)
		after := func(days int) (expires, expired int) {
			before := len(log.String())
			<-time.After(time.Duration(days) * day)
			synctest.Wait()
			text := log.String()[before:]
			return strings.Count(text, "custom certificate expires soon"), strings.Count(text, "custom certificate expired")
		}
		if text := log.String(); !strings.Contains(text, "level=INFO msg=\"custom certificate loaded\"") {
			t.Errorf("at the start: %s", text)
		}
		if expires, expired := after(6); expires != 0 || expired != 0 {
			t.Errorf("more than 14 days before the end: %d and %d warnings", expires, expired)
		}
		if expires, expired := after(14); expires != 14 || expired != 0 {
			t.Errorf("in the 14 days before the end: %d and %d warnings", expires, expired)
		}
		if expires, expired := after(3); expires != 0 || expired != 3 {
			t.Errorf("in three days after the end: %d and %d warnings", expires, expired)
		}
		own.in(90 * day)
		e.loaded()
		if expires, expired := after(30); expires != 0 || expired != 0 {
			t.Errorf("after a new certificate: %d and %d warnings", expires, expired)
		}
		own.in(day)
		before := len(log.String())
		e.loaded()
		if text := log.String()[before:]; !strings.Contains(text, "level=WARN msg=\"custom certificate expires soon") {
			t.Errorf("no warning about a certificate that expires in one day: %s", text)
		}
	})
}
