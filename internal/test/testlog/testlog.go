// Package testlog is the log output of tests whose goroutines may outlive them. Only tests import it.
package testlog

import (
	"io"
	"sync"
)

// Test is the part of testing.TB that this package uses.
type Test interface {
	Output() io.Writer
	Cleanup(end func())
}

// Output writes to a test until the test ends, and then discards writes. Writing to a test after its end is an error, and
// goroutines of memberlist, for example, outlive a member by the length of a probe.
type Output struct {
	mu sync.Mutex
	to io.Writer // nil after the test
}

// Of returns the output of a test. It closes after the cleanups that the test registers after the call.
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
