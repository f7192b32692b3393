package main

import (
	"fmt"
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
	Settings   string        `json:"settings"`
	Prepared   time.Duration `json:"prepared_ns"`  // time before the first call
	Processor  time.Duration `json:"processor_ns"` // processor time of all processes, with the preparation
}

// A caller is what the tally knows of one application.
type caller struct {
	since   time.Duration // time of its last number, of its start, or of the end of its pause
	running bool
	paused  bool
}

// tally counts a raw file.
func tally(path string) (outcome, error) {
	var (
		o    outcome
		open int // faults that are not over
	)
	seen, callers := make(map[string]struct{}), make(map[string]*caller)
	err := read(path, func(e event) error {
		c := callers[e.who]
		if c == nil {
			c = &caller{}
			callers[e.who] = c
		}
		switch e.sign {
		case '>':
			c.since, c.running = e.at, true
		case '=':
			o.Calls++
			if _, twice := seen[e.text]; twice {
				o.Duplicates++
				if o.FirstTwice == "" {
					o.FirstTwice = fmt.Sprintf("%s by %s at %.1f s", e.text, e.who, e.at.Seconds())
				}
			}
			seen[e.text] = struct{}{}
			o.gap(c, e.at)
			c.since = e.at
		case '!':
			o.Calls++
			o.Failed++
			o.gap(c, e.at)
		case 'x':
			o.gap(c, e.at)
			c.running = false
		case '(':
			o.gap(c, e.at)
			c.paused = true
			if e.who == harness {
				o.Faults = append(o.Faults, e.text)
				open++
			}
		case ')':
			c.since, c.paused = e.at, false
			if e.who == harness {
				open--
			}
		case '#', '@':
		default:
			return fmt.Errorf("unknown sign %q", e.sign)
		}
		return nil
	})
	if err == nil && open != 0 {
		err = fmt.Errorf("%s: a fault is not over; the run was interrupted", path)
	}
	return o, err
}

// gap notes the time since an application last got a number, unless it is stopped.
func (o *outcome) gap(c *caller, at time.Duration) {
	if c.running && !c.paused {
		o.Longest = max(o.Longest, at-c.since)
	}
}
