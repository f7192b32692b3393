//go:build linux

package scenario

import (
	"fmt"
	"strings"
	"sync"

	"github.com/snowraft/snowraft/jepsen/check"
)

// finding is what a script finds. Its methods may be called from any goroutine.
type finding struct {
	mu                       sync.Mutex
	seen, violated, unproven []string
	count                    int // of violations
}

// mostViolations is the greatest number of violations reported; the others are counted.
const mostViolations = 20

// see notes what was seen, in a few words that follow each other.
func (f *finding) see(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, fmt.Sprintf(format, args...))
}

// violation says that what the other system did was done here as well.
func (f *finding) violation(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count <= mostViolations {
		f.violated = append(f.violated, fmt.Sprintf(format, args...))
	}
}

// vain says why the scenario shows nothing.
func (f *finding) vain(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unproven = append(f.unproven, fmt.Sprintf(format, args...))
}

// need says that the scenario shows nothing unless something happened at least so often.
func (f *finding) need(what string, n, least int) {
	if n < least {
		f.vain("%s: %d, expected at least %d", what, n, least)
	}
}

// summary is what was seen, in one line.
func (f *finding) summary() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.seen, "; ")
}

// verdict is that of the script itself.
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

// unreachedError says that a script did not get where the other system failed.
type unreachedError string

func (e unreachedError) Error() string { return string(e) }

func unreached(format string, args ...any) error { return unreachedError(fmt.Sprintf(format, args...)) }
