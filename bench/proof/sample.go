package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the time that one column of a timeline stands for.
const tick = 500 * time.Millisecond

// A column is what callers got in a tick.
type column struct {
	good  int // applications that got numbers
	twice int // answers with a number that came before
}

// sample returns the columns of a raw file.
func sample(path string, length time.Duration) ([]column, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	columns, seen := make([]column, length/tick+1), make(map[string]struct{})
	last := make(map[string]int) // last column in which an application got a number
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "\t", 4)
		if len(fields) != 4 || fields[2] != "=" {
			continue
		}
		micros, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return nil, err
		}
		i := min(int(time.Duration(micros)*time.Microsecond/tick), len(columns)-1)
		if at, known := last[fields[1]]; !known || at < i {
			last[fields[1]] = i
			columns[i].good++
		}
		if _, twice := seen[fields[3]]; twice {
			columns[i].twice++
		}
		seen[fields[3]] = struct{}{}
	}
	return columns, lines.Err()
}
