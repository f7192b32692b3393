package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// An outcome is what a run of a system came to.
type outcome struct {
	Version    string        `json:"version"`
	Seed       uint64        `json:"seed"`
	Calls      int           `json:"calls"`
	Failed     int           `json:"failed"`     // calls that gave an error
	Duplicates int           `json:"duplicates"` // answers with a number that an earlier answer had
	Longest    time.Duration `json:"longest_ns"` // longest time in which a running application got no number
	Faults     []string      `json:"faults"`     // those that took effect
	FirstTwice string        `json:"first_twice,omitempty"`
}

// A caller is what the tally knows of one application.
type caller struct {
	since   int64 // microseconds; when it last got a number, began, or continued after a pause
	running bool
	paused  bool
}

// tally counts a raw file.
func tally(path string) (outcome, error) {
	var o outcome
	file, err := os.Open(path)
	if err != nil {
		return o, err
	}
	defer func() { _ = file.Close() }()
	seen, callers := make(map[string]struct{}), make(map[string]*caller)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "\t", 4)
		if len(fields) != 4 || len(fields[2]) != 1 {
			return o, fmt.Errorf("%s: unexpected line %q", path, lines.Text())
		}
		at, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return o, fmt.Errorf("%s: %w", path, err)
		}
		who, sign, text := fields[1], fields[2][0], fields[3]
		c := callers[who]
		if c == nil {
			c = &caller{}
			callers[who] = c
		}
		switch sign {
		case '>':
			c.since, c.running = at, true
		case '=':
			o.Calls++
			if _, twice := seen[text]; twice {
				o.Duplicates++
				if o.FirstTwice == "" {
					o.FirstTwice = fmt.Sprintf("%s by %s at %.1f s", text, who, float64(at)/1e6)
				}
			}
			seen[text] = struct{}{}
			o.gap(c, at)
			c.since = at
		case '!':
			o.Calls++
			o.Failed++
			o.gap(c, at)
		case 'x':
			o.gap(c, at)
			c.running = false
		case '(':
			o.gap(c, at)
			c.paused = true
			if who == harness {
				o.Faults = append(o.Faults, text)
			}
		case ')':
			c.since, c.paused = at, false
		case '#':
		default:
			return o, fmt.Errorf("%s: unknown sign %q", path, sign)
		}
	}
	return o, lines.Err()
}

// gap notes the time since an application last got a number, unless it is stopped.
func (o *outcome) gap(c *caller, at int64) {
	if c.running && !c.paused {
		o.Longest = max(o.Longest, time.Duration(at-c.since)*time.Microsecond)
	}
}
