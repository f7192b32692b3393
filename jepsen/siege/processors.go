//go:build linux

package siege

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// hertz is the number of units per second in which Linux reports processor time.
const hertz = 100

// machineTime returns the time for which the processes of the sandbox have had the machine. It is the processor time that they and
// no process used, divided by the number of processors. The processor time of other programs does not count.
func machineTime() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	var idle, wait uint64
	if _, err := fmt.Sscanf(string(stat), "cpu %d %d %d %d %d", new(uint64), new(uint64), new(uint64), &idle, &wait); err != nil {
		return 0, err
	}
	units := idle + wait
	own, err := filepath.Glob("/proc/[0-9]*/stat") // only the sandbox's, which has its own /proc
	if err != nil {
		return 0, err
	}
	for _, path := range own {
		stat, _ := os.ReadFile(path) // empty if the process has just exited
		units += used(string(stat))
	}
	return time.Duration(units) * time.Second / hertz / time.Duration(runtime.NumCPU()), nil
}

// used returns the processor time in the text of /proc/PID/stat.
func used(stat string) uint64 {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // after the name of the program
	var user, system uint64
	if len(fields) > 12 {
		_, _ = fmt.Sscan(fields[11], &user)
		_, _ = fmt.Sscan(fields[12], &system)
	}
	return user + system
}
