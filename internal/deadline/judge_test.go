package deadline

import (
	"strings"
	"testing"
	"time"
)

const tick = time.Millisecond

// rules is a window of 30 s that begins at 1,000 s.
var rules = Rules{
	From: 1000 * time.Second, Until: 1030 * time.Second,
	Back: 5 * time.Millisecond, Ahead: time.Second, Offset: 500 * time.Millisecond, Stop: 10 * time.Second,
}

// at returns a reading of a clock that shows the wall time, at a time since the boot.
func at(wall, mono time.Duration) Reading { return Reading{Wall: wall, Mono: mono} }

func TestVerdictsOfACorrectClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wall time.Duration
		want Verdict
	}{
		{999 * time.Second, Early},
		{rules.From + rules.Back + noise, Early},
		{rules.From + rules.Back + noise + 1, Run},
		{rules.Until - 11500*time.Millisecond - 1, Run},
		{rules.Until - 11500*time.Millisecond, Stop},
		{rules.Until - 1500*time.Millisecond - 1, Stop},
		{rules.Until - 1500*time.Millisecond, Kill},
		{rules.Until + time.Hour, Kill},
	} {
		var j Judge
		if got, why := j.Judge(at(c.wall, 7*time.Second), rules); got != c.want || (why != "") != (got >= Stop) {
			t.Errorf("%v after the start of the window: %v (%s), want %v", c.wall-rules.From, got, why, c.want)
		}
	}
}

// Each case is a life of a clock: the wall times shown at 1 s, 2 s and so on of monotonic time.
func TestStepsOfTheClock(t *testing.T) {
	t.Parallel()
	const begin, ms = 1001 * time.Second, time.Millisecond
	for name, c := range map[string]struct {
		offsets []time.Duration
		want    Verdict
		stepped bool
		why     string
	}{
		"none":                  {[]time.Duration{0, 0, 0}, Run, false, ""},
		"noise":                 {[]time.Duration{0, ms, -ms}, Run, false, ""},
		"back a little":         {[]time.Duration{0, -4 * ms}, Run, true, ""},
		"back by 4 ms, often":   {[]time.Duration{0, -4 * ms, -8 * ms}, Kill, true, "moved back by 8ms"},
		"back too far":          {[]time.Duration{0, -8 * ms}, Kill, true, "moved back"},
		"ahead, inside":         {[]time.Duration{0, 3 * time.Second}, Run, true, ""},
		"ahead, then back":      {[]time.Duration{0, 3 * time.Second, 0}, Kill, true, "moved back by 3s"},
		"ahead, out of it":      {[]time.Duration{0, time.Hour}, Kill, true, "moved out of the window"},
		"the end of the window": {[]time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, Kill, false, "the window ended"},
	} {
		var j Judge
		var got Verdict
		var why string
		for i, offset := range c.offsets {
			mono := time.Duration(i) * time.Second
			got, why = j.Judge(at(begin+mono+offset, mono), rules)
		}
		if got != c.want || j.Stepped() != c.stepped || !strings.Contains(why, c.why) {
			t.Errorf("%s: %v (%s), stepped %v, want %v, %v", name, got, why, j.Stepped(), c.want, c.stepped)
		}
	}
}

// A release leaves room for all IDs that the program can have made: those at the highest time that the clock can have shown, and
// those of a library that runs ahead.
func TestLastTimeOfIDs(t *testing.T) {
	t.Parallel()
	var j Judge
	j.Judge(at(1001*time.Second, time.Second), rules)
	j.Judge(at(1002*time.Second-4*time.Millisecond, 2*time.Second), rules)
	got := j.Last(at(1003*time.Second-4*time.Millisecond, 3*time.Second), rules, tick)
	if want := time.Unix(1003, 0).Add(rules.Back + rules.Ahead + tick); !got.Equal(want) {
		t.Errorf("last time %v, want %v", got, want)
	}
}

// A step that the next one undoes is not in the readings. The program may have IDs with any time then.
func TestUnseenStep(t *testing.T) {
	t.Parallel()
	var j Judge
	j.Judge(at(1001*time.Second, time.Second), rules)
	r := at(1002*time.Second, 2*time.Second)
	r.Set = true
	if v, why := j.Judge(r, rules); v != Kill || !strings.Contains(why, "set back") || !j.Stepped() {
		t.Errorf("verdict %v (%s), stepped %v", v, why, j.Stepped())
	}
}

// The kernel may note a step just after a reading shows it.
func TestStepNotedLate(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{false, true} {
		var j Judge
		j.Judge(at(1001*time.Second, time.Second), rules)
		moved, after := at(1005*time.Second, 2*time.Second), at(1006*time.Second, 3*time.Second)
		moved.Set, after.Set = !early, early
		for _, r := range []Reading{moved, after} {
			if v, why := j.Judge(r, rules); v != Run || !j.Stepped() {
				t.Errorf("early %v: verdict %v (%s), stepped %v", early, v, why, j.Stepped())
			}
		}
	}
}
