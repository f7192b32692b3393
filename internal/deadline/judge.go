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
	Set  bool          // the clock was set since the last reading
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
	latest  time.Duration // the base of the last reading
	begun   bool
	stepped bool
	early   bool // the last reading showed a step before Set did
}

// Judge returns the verdict at a reading, with the reason for Stop and Kill.
func (j *Judge) Judge(r Reading, rules Rules) (Verdict, string) {
	base := r.Wall - r.Mono
	if !j.begun {
		j.begun, j.first, j.highest, j.latest = true, base, base, base
		r.Set = false // before the first reading
	}
	moved := (base - j.latest).Abs() > noise
	undone := r.Set && !moved && !j.early
	j.early = moved && !r.Set
	j.highest, j.latest = max(j.highest, base), base
	if r.Set || (base-j.first).Abs() > noise {
		j.stepped = true
	}
	end := rules.Until - rules.Ahead - rules.Offset - j.highest - r.Mono
	switch back := j.highest - base; {
	case back > rules.Back+noise:
		return Kill, fmt.Sprintf("the clock moved back by %v", back.Round(time.Millisecond))
	case undone:
		return Kill, "the clock was set, and set back before it was read"
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

// Stepped reports whether the clock was set since the first reading. The times of the program's IDs are unknown then.
func (j *Judge) Stepped() bool { return j.stepped }

// Last returns a time after those of all IDs that the program can have made until a reading, with the tick of its layout.
func (j *Judge) Last(r Reading, rules Rules, tick time.Duration) time.Time {
	last := j.highest + r.Mono + rules.Back + rules.Ahead + tick
	return time.Unix(0, int64(last))
}
