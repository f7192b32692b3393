//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A trial is what the systems of one table go through.
type trial struct {
	name    string // markers of the table in docs/proof.md
	picture string // file of the timelines; empty for none
	course  func(seed uint64) course
}

var (
	sevenFaults = &trial{"proof", "proof-timelines.svg", plan}
	longPause   = &trial{"pause", "proof-pause.svg", pausing}
	hourBack    = &trial{"hour", "", hour}
)

// fewest is the number of calls below which a run shows nothing: an application did not work.
const fewest = 10_000

// meets returns the faults of a course that the system meets, with the texts of the record.
func (s system) meets(c course) []string {
	var all []string
	for _, f := range c.all() {
		if !s.alone || !f.Kind.ofPrimary() {
			all = append(all, f.String())
		}
	}
	return all
}

// judge returns an error unless the run counts: all faults of the course took effect, and applications worked.
func (s system) judge(c course, raw string, o outcome) error {
	if want := s.meets(c); !slices.Equal(o.Faults, want) {
		return fmt.Errorf("%s: the faults %q are not those of the seed, %q", raw, o.Faults, want)
	}
	if o.Calls < fewest {
		return fmt.Errorf("%s: %d calls show nothing", raw, o.Calls)
	}
	if s.trial == longPause {
		return everyCame(raw)
	}
	return clocksWentBack(raw, c)
}

// clocksWentBack returns an error unless an application read a clock that had gone back, in the time of each fault that sets one.
func clocksWentBack(raw string, c course) error {
	back := make(map[string]time.Duration) // key: text of the fault
	for _, f := range c.all() {
		if f.Kind == setApp || f.Kind == hourApp {
			back[f.String()] = f.Kind.back()
		}
	}
	ahead := make(map[string]time.Duration) // each application's clock at its last start minus the time of the run
	var wanted time.Duration
	var during string
	return read(raw, func(e event) error {
		switch {
		case e.sign == '(' && e.who == harness && back[e.text] > 0:
			wanted, during = back[e.text], e.text
		case e.sign == ')' && e.who == harness && wanted > 0:
			return fmt.Errorf("no application had another clock: %s", during)
		case e.sign == '@':
			millis, err := strconv.ParseInt(e.text, 10, 64)
			if err != nil {
				return err
			}
			now := time.Duration(millis)*time.Millisecond - e.at
			if before, known := ahead[e.who]; known && wanted > 0 && before-now > wanted/2 {
				wanted = 0
			}
			ahead[e.who] = now
		}
		return nil
	})
}
