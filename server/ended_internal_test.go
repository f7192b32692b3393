package server

import "testing"

// Only a process that said that it shuts down in order did so.
func TestOrderedEndsAreTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, step := range []struct{ ordered, ends bool }{
		{true, true}, // no process before
		{true, true},
		{true, false}, // killed
		{false, false},
		{false, true},
		{true, true},
	} {
		e := openEnded(dir)
		if e.ordered != step.ordered {
			t.Errorf("start %d: the last process shut down in order: %t, want %t", i, e.ordered, step.ordered)
		}
		if step.ends {
			e.end()
		}
	}
	for _, nowhere := range []string{"", "/nowhere"} {
		if e := openEnded(nowhere); !e.ordered {
			t.Errorf("%q: the end of no process is not in order", nowhere)
		} else {
			e.end()
		}
	}
}
