package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// processorTime returns the processor time of all processes that /proc shows, and of their children that have exited.
func processorTime() (time.Duration, error) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	var sum time.Duration
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // has exited
		}
		spent, err := processor(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		sum += spent
	}
	return sum, nil
}

// processor returns the processor time in a stat file of a process, see proc(5): its own and that of its children that have exited.
func processor(stat string) (time.Duration, error) {
	_, after, _ := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ") // the name may contain spaces and parentheses
	fields := strings.Fields(after)
	const first, last = 11, 14 // utime, stime, cutime and cstime, of 100 per second
	if len(fields) <= last {
		return 0, fmt.Errorf("unexpected text %q", stat)
	}
	var sum time.Duration
	for _, field := range fields[first : last+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum, nil
}
