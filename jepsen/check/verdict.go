package check

import "fmt"

// Outcome is what a checker says of a run.
type Outcome string

// The outcomes of a checker.
const (
	Pass    Outcome = "pass"    // everything that was promised was kept
	Fail    Outcome = "fail"    // a promise was broken
	Invalid Outcome = "invalid" // the run shows nothing, since something is missing
)

// maxFailures is the number of failures a verdict lists; the others are counted only.
const maxFailures = 20

// Verdict is what one checker says of a run.
type Verdict struct {
	Checker string  `json:"checker"`
	Outcome Outcome `json:"outcome"`
	// Summary is one sentence with numbers.
	Summary string `json:"summary"`
	// Failures are sentences that name IDs, operations, members and indexes; at most 20. If the
	// run is invalid, they say why.
	Failures []string `json:"failures,omitempty"`
	// Facts are what was counted.
	Facts map[string]int64 `json:"facts,omitempty"`
}

// factFailures counts all failures, also those that were left out.
const factFailures = "failures"

// newVerdict is one that passes until something fails.
func newVerdict(checker string) *Verdict {
	return &Verdict{Checker: checker, Outcome: Pass, Facts: map[string]int64{factFailures: 0}}
}

// fail adds a failure.
func (v *Verdict) fail(format string, args ...any) {
	v.Outcome = Fail
	v.Facts[factFailures]++
	v.say(format, args...)
}

// invalid says why the run shows nothing. A failure stays.
func (v *Verdict) invalid(format string, args ...any) {
	if v.Outcome == Pass {
		v.Outcome = Invalid
	}
	v.say(format, args...)
}

func (v *Verdict) say(format string, args ...any) {
	if len(v.Failures) < maxFailures {
		v.Failures = append(v.Failures, fmt.Sprintf(format, args...))
	}
}

// failed says whether so much failed that more need not be listed.
func (v *Verdict) failed() bool { return len(v.Failures) >= maxFailures }
