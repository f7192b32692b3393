package allocator_test

import (
	"testing"
	"time"
)

// A caller or a lane that waits for a processor after its reading of the clock is late. Its clock is not behind the IDs that
// others took in the meantime.
func TestLateReadingsAreNotBehind(t *testing.T) {
	const stall = 2 * time.Second
	t.Run("of a caller", func(t *testing.T) {
		run(t, nil, func(r *rig) {
			r.next(0)
			r.clock.stall.Store(int64(stall))
			failed := make(chan error, 1)
			go func() {
				_, err := r.issuer.Next(r.Context(), 0)
				failed <- err
			}()
			r.pass(stall - 200*time.Millisecond)
			r.next(0)
			r.clock.stall.Store(int64(stall)) // second reading: the first found no ID
			r.pass(stall)
			r.next(0)
			if err := <-failed; err != nil {
				r.Error(err)
			}
		})
	})
	t.Run("of a lane", func(t *testing.T) {
		run(t, nil, func(r *rig) {
			r.next(0)
			for range 4 { // readings of different steps
				r.clock.stall.Store(int64(stall))
				for r.clock.stall.Load() > 0 {
					r.pass(time.Millisecond)
				}
				r.pass(stall - 100*time.Millisecond)
				r.next(0)
				r.pass(100 * time.Millisecond)
				if status := r.issuer.Lanes()[0]; status.Problem != "" {
					r.Error(status.Problem)
				}
			}
		})
	})
}
