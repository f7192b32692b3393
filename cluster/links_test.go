package cluster

import "testing"

// The number of a node's host grows with each change of the host, also without an end of the former links, and not otherwise.
func TestHostsOfLinks(t *testing.T) {
	t.Parallel()
	var l links
	if n := l.host("a"); n != 0 {
		t.Errorf("%d without a link", n)
	}
	a := origin{"a", "1"}
	endFirst := l.add(a, "10.0.0.1")
	first := l.host("a")
	l.add(origin{"b", "1"}, "10.0.0.2")
	endSecond := l.add(a, "10.0.0.1")
	if n := l.host("a"); n != first || first == 0 {
		t.Errorf("%d after a second link from the host, first %d", n, first)
	}
	endThird := l.add(a, "10.0.0.3")
	moved := l.host("a")
	if moved <= first {
		t.Errorf("%d after a link from another host, before %d", moved, first)
	}
	endFirst()
	endSecond()
	if n := l.host("a"); n != moved {
		t.Errorf("%d after the end of the former links, want %d", n, moved)
	}
	endThird()
	if n := l.host("a"); n != 0 {
		t.Errorf("%d after the end of all links", n)
	}
}
