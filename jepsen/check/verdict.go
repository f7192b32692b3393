package check

import "fmt"

// Outcome is the result of a checker for a run.
type Outcome string

// The outcomes of a checker.
const (
	Pass    Outcome = "pass"    // every promise kept
	Fail    Outcome = "fail"    // a promise broken
	Invalid Outcome = "invalid" // nothing shown, because evidence is missing
)

// maxFailures is the number of failures that a verdict lists. It counts all failures.
const maxFailures = 20

// Verdict is the outcome of one checker for a run, with its reasons.
type Verdict struct {
	Checker string  `json:"checker"`
	Outcome Outcome `json:"outcome"`
	// Summary is one sentence with numbers.
	Summary string `json:"summary"`
	// Failures are at most 20 sentences that name IDs, operations, members and indexes. They include the reasons
	// why a run is invalid.
	Failures []string `json:"failures,omitempty"`
	// Facts are the counts of the checker, by name.
	Facts map[string]int64 `json:"facts,omitempty"`
}

// factFailures is the count of all failures, including those not listed.
const factFailures = "failures"

// newVerdict returns a verdict that passes until fail or invalid is called.
func newVerdict(checker string) *Verdict {
	return &Verdict{Checker: checker, Outcome: Pass, Facts: map[string]int64{factFailures: 0}}
}

// fail adds a failure.
func (v *Verdict) fail(format string, args ...any) {
	v.Outcome = Fail
	v.Facts[factFailures]++
	v.say(format, args...)
}

// invalid adds a reason why the run is invalid. A failed verdict stays failed.
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

// failed reports whether the list of failures is full.
func (v *Verdict) failed() bool { return len(v.Failures) >= maxFailures }
