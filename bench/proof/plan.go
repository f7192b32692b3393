package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A kind is what a fault does.
type kind string

// The kinds of faults. A system without servers meets those of applications alone.
const (
	killPrimary  kind = "kill the primary"                            // SIGKILL to its processes, which start again at the end
	pausePrimary kind = "pause the primary"                           // SIGSTOP to its processes
	cutPrimary   kind = "cut the primary off"                         // one application stays with it
	setPrimary   kind = "restart the primary, its clock 20 s back"    // the clock is right again at the end, after a further restart
	pauseApp     kind = "pause an application"                        // SIGSTOP
	setApp       kind = "restart an application, its clock 20 s back" // the clock is right again after a further restart
	deploy       kind = "restart all applications"                    // SIGKILL, and start again at once
	loseApp      kind = "lose an application"                         // SIGKILL; another one replaces it in a new container
	addApp       kind = "start another application"                   // a new container for it
	passHour     kind = "stop everything, and start it an hour later" // all clocks are right from then on
	hourApp      kind = "restart an application, its clock 1 h back"  // the clock is right again after a further restart
	hourPrimary  kind = "restart the primary, its clock 1 h back"     // the clock is right again after a further restart
)

// kinds lists the kinds of faults that a plan has once each.
var kinds = []kind{killPrimary, pausePrimary, cutPrimary, setPrimary, pauseApp, setApp, deploy}

// ofPrimary reports whether the fault needs a server.
func (k kind) ofPrimary() bool {
	return k == killPrimary || k == pausePrimary || k == cutPrimary || k == setPrimary || k == hourPrimary
}

// back returns how far the clock goes back for the fault.
func (k kind) back() time.Duration {
	switch k {
	case setPrimary, setApp:
		return calm // into a time of the run, in which numbers came already
	case hourPrimary, hourApp:
		return time.Hour
	}
	return 0
}

// A fault is one disturbance. It begins at At, counted from the first call of the applications, and ends For later; at once if For is 0.
type fault struct {
	Kind   kind
	At     time.Duration
	For    time.Duration
	App    int     // number of the application that it hits, or that stays with the primary
	During []fault // faults that begin and end in its time, in order
}

// A course is the faults of a run, in order, and its time.
type course struct {
	faults []fault
	length time.Duration
	clock  time.Duration // offset of all clocks at first
}

const (
	apps  = 3                // applications that call at once
	calm  = 20 * time.Second // time before the first fault
	slot  = 20 * time.Second // time of a fault and of the recovery from it
	least = 10 * time.Second // shortest fault
	most  = 13 * time.Second // longest fault
)

// plan returns the faults of a seed: each kind once, in an order that the seed decides. It is the same for all systems.
func plan(seed uint64) course {
	r := rand.New(rand.NewPCG(seed, 0))
	faults := make([]fault, len(kinds))
	for i, k := range r.Perm(len(kinds)) {
		faults[i] = fault{
			Kind: kinds[k],
			At:   calm + time.Duration(i)*slot,
			For:  least + time.Duration(r.Int64N(int64(most-least))),
			App:  r.IntN(apps),
		}
	}
	return course{faults: faults, length: calm + time.Duration(len(faults))*slot}
}

// all returns the faults of a course and those during them.
func (c course) all() []fault {
	var all []fault
	for _, f := range c.faults {
		all = append(append(all, f), f.During...)
	}
	return all
}

// String implements [fmt.Stringer].
func (f fault) String() string {
	if f.For == 0 {
		return string(f.Kind)
	}
	return fmt.Sprintf("%v for %v", f.Kind, f.For.Round(time.Millisecond))
}
