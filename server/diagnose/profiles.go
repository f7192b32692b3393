package diagnose

import (
	"runtime/pprof"
	"time"
)

// goroutines writes the stacks of all goroutines with their counts. This form has no arguments of functions, which are words
// of memory, and stops the process only for a moment.
func goroutines(b *buffer) error { return pprof.Lookup("goroutine").WriteTo(b, 1) }

func heap(b *buffer) error { return pprof.Lookup("heap").WriteTo(b, 0) }

// cpu puts a CPU profile of the given duration. If another profile is in progress, it only waits for the duration, which
// separates the two readings of the metrics.
func (a *archive) cpu(name string, duration time.Duration) {
	if a.err != nil {
		return
	}
	var b buffer
	err := pprof.StartCPUProfile(&b)
	if err != nil {
		a.problem(name, err)
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.ctx.Done():
		a.err = a.ctx.Err()
	}
	if err == nil {
		pprof.StopCPUProfile()
		a.file(name, func(to *buffer) error {
			_, err := to.Write(b.Bytes())
			return err
		})
	}
}
