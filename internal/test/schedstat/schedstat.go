// Package schedstat reads from the scheduler's statistics for how long the machine kept a process waiting for a processor.
package schedstat

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Times is the time for which the threads of a process ran, and for which they were ready and had no processor, since the
// start of each thread. The time of a thread that has ended is missing.
type Times struct{ Ran, Waited time.Duration }

// Of returns the times of a process; zero if the system does not report them.
func Of(pid int) (total Times) {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is correct
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		var ran, waited int64
		if err == nil {
			_, err = fmt.Sscan(string(raw), &ran, &waited)
		}
		if err == nil {
			total.Ran += time.Duration(ran)
			total.Waited += time.Duration(waited)
		}
	}
	return total
}

// Stalled returns the time by which the machine delayed a process between two readings, which is at most the time between
// them. A process that computes for a part of the time for which its threads are ready makes that part of the progress that it
// would make on an idle machine.
func Stalled(earlier, later Times, between time.Duration) time.Duration {
	ran, waited := max(0, later.Ran-earlier.Ran), max(0, later.Waited-earlier.Waited)
	if ran+waited == 0 {
		return 0
	}
	return min(waited, time.Duration(float64(between)*float64(waited)/float64(ran+waited)))
}
