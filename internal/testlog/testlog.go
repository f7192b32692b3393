// Package testlog is the output of tests for goroutines that may outlive them. Only tests import it.
package testlog

import (
	"io"
	"sync"
)

// Test is the part of a testing.TB that is needed here.
type Test interface {
	Output() io.Writer
	Cleanup(end func())
}

// Output is the output of a test until the test ends; what is written later is dropped. Goroutines of memberlist, for example,
// outlive a member by the length of a probe, and a test must not be written to after its end.
type Output struct {
	mu sync.Mutex
	to io.Writer // nil after the test
}

// Of returns the output of a test. It closes after the cleanups that the test registers later.
func Of(t Test) *Output {
	o := &Output{to: t.Output()}
	t.Cleanup(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.to = nil
	})
	return o
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to == nil {
		return len(p), nil
	}
	return o.to.Write(p)
}
