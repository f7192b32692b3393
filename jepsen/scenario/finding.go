//go:build linux

package scenario

import (
	"fmt"
	"strings"
	"sync"

	"github.com/snowraft/snowraft/jepsen/check"
)

// finding collects the observations of a script. Its methods are safe for concurrent use.
type finding struct {
	mu                       sync.Mutex
	seen, violated, unproven []string
	count                    int // number of violations
}

// mostViolations is the maximum number of violations with a text; further violations are only counted.
const mostViolations = 20

// see adds an observation to the summary.
func (f *finding) see(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, fmt.Sprintf(format, args...))
}

// violation reports that the failure of the other system occurred here.
func (f *finding) violation(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count <= mostViolations {
		f.violated = append(f.violated, fmt.Sprintf(format, args...))
	}
}

// vain adds a reason why the scenario shows nothing.
func (f *finding) vain(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unproven = append(f.unproven, fmt.Sprintf(format, args...))
}

// need makes the scenario invalid if n, the number of what, is less than least.
func (f *finding) need(what string, n, least int) {
	if n < least {
		f.vain("%s: %d, expected at least %d", what, n, least)
	}
}

// summary returns all observations, separated by semicolons.
func (f *finding) summary() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.seen, "; ")
}

// verdict returns the verdict of the script.
func (f *finding) verdict() check.Verdict {
	summary := f.summary()
	f.mu.Lock()
	defer f.mu.Unlock()
	v := check.Verdict{
		Checker: "scenario", Outcome: check.Pass, Summary: summary,
		Facts: map[string]int64{"failures": int64(f.count)},
	}
	v.Failures = append(v.Failures, f.violated...)
	v.Failures = append(v.Failures, f.unproven...)
	switch {
	case f.count > 0:
		v.Outcome = check.Fail
	case len(f.unproven) > 0:
		v.Outcome = check.Invalid
	}
	return v
}

// unreachedError is the error of a script that did not reach the situation in which the other system failed.
type unreachedError string

func (e unreachedError) Error() string { return string(e) }

func unreached(format string, args ...any) error { return unreachedError(fmt.Sprintf(format, args...)) }
