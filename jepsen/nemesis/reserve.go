//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"time"
)

// reserve reserves all members for the caller, so that no workload kills a member or makes one leave meanwhile. It waits
// for members that are reserved by another caller.
func (w *World) reserve(ctx context.Context) (release func(), err error) {
	ctx, cancel := w.patient(ctx, wellWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var releases []func()
	release = func() {
		for _, f := range releases {
			f()
		}
	}
	for _, m := range w.Lab.Members {
		for {
			one, ok := m.Reserve()
			if ok {
				releases = append(releases, one)
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				release()
				return nil, fmt.Errorf("%s is reserved by a workload: %w", m.Name, ctx.Err())
			}
		}
	}
	return release, nil
}
