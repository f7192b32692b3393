// Package deadline judges whether a program may run that makes IDs by the clock of this machine. The program may make them in
// a window of time only. The main type is [Judge].
package deadline

import (
	"fmt"
	"time"
)

// Reading is the clock at one moment.
type Reading struct {
	Wall time.Duration // the wall clock, since the Unix epoch. It can jump, both ways
	Mono time.Duration // time since the boot, suspensions included. It never jumps
}

// Rules hold the window of a program and its margins.
type Rules struct {
	From, Until time.Duration // the window, since the Unix epoch
	Back        time.Duration // the step back of the clock that the program's library tolerates
	Ahead       time.Duration // the time by which the library runs ahead of the clock
	Offset      time.Duration // the greatest offset of the clock
	Stop        time.Duration // the time that the program needs to stop
}

// Verdict is the treatment of the program now.
type Verdict uint8

const (
	// Early means that the program must not start yet.
	Early Verdict = iota
	// Run means that the program may run.
	Run
	// Stop means that the program must be requested to stop.
	Stop
	// Kill means that the program must be killed at once.
	Kill
)

// noise is the greatest difference between two bases of one clock without a step.
const noise = 2 * time.Millisecond

// Judge compares a clock with a window and with its own past. A base is wall - mono. It stays the same until a step
// of the clock, because NTP slews both.
type Judge struct {
	first   time.Duration // the base of the first reading
	highest time.Duration // the highest base
	begun   bool
	stepped bool
}

// Judge returns the verdict at a reading, with the reason for Stop and Kill.
func (j *Judge) Judge(r Reading, rules Rules) (Verdict, string) {
	base := r.Wall - r.Mono
	if !j.begun {
		j.begun, j.first, j.highest = true, base, base
	}
	j.highest = max(j.highest, base)
	if (base - j.first).Abs() > noise {
		j.stepped = true
	}
	end := rules.Until - rules.Ahead - rules.Offset - j.highest - r.Mono
	switch back := j.highest - base; {
	case back > rules.Back+noise:
		return Kill, fmt.Sprintf("the clock moved back by %v", back.Round(time.Millisecond))
	case end <= 0 && j.stepped:
		return Kill, "the clock moved out of the window"
	case end <= 0:
		return Kill, "the window ended"
	case end <= rules.Stop:
		return Stop, "the window ends soon"
	case r.Wall <= rules.From+rules.Back+noise:
		return Early, ""
	default:
		return Run, ""
	}
}

// Step notes a step of the clock that no reading may show.
func (j *Judge) Step() { j.stepped = true }

// Stepped reports whether the clock was set since the first reading. The times of the program's IDs are unknown then.
func (j *Judge) Stepped() bool { return j.stepped }

// Last returns a time after those of all IDs that the program can have made until a reading, with the tick of its layout.
func (j *Judge) Last(r Reading, rules Rules, tick time.Duration) time.Time {
	last := j.highest + r.Mono + rules.Back + rules.Ahead + tick
	return time.Unix(0, int64(last))
}
