package transport

import "testing"

// The number of a node's host grows with each change of the host, also without an end of the former links, and not otherwise.
func TestHostsOfLinks(t *testing.T) {
	t.Parallel()
	var l Links
	if n := l.HostOf("a"); n != 0 {
		t.Errorf("%d without a link", n)
	}
	a := Origin{"a", "1"}
	endFirst := l.Add(a, "10.0.0.1")
	first := l.HostOf("a")
	l.Add(Origin{"b", "1"}, "10.0.0.2")
	endSecond := l.Add(a, "10.0.0.1")
	if n := l.HostOf("a"); n != first || first == 0 {
		t.Errorf("%d after a second link from the host, first %d", n, first)
	}
	endThird := l.Add(a, "10.0.0.3")
	moved := l.HostOf("a")
	if moved <= first {
		t.Errorf("%d after a link from another host, before %d", moved, first)
	}
	endFirst()
	endSecond()
	if n := l.HostOf("a"); n != moved {
		t.Errorf("%d after the end of the former links, want %d", n, moved)
	}
	endThird()
	if n := l.HostOf("a"); n != 0 {
		t.Errorf("%d after the end of all links", n)
	}
}

func TestLinksOfProcesses(t *testing.T) {
	t.Parallel()
	var l Links
	old, now := Origin{"a", "1"}, Origin{"a", "2"}
	moved := l.Changed.Next()
	first := l.Add(old, "")
	<-moved
	second := l.Add(old, "")
	other := l.Add(now, "")
	if l.NewestProcess("a") != "2" || l.NewestProcess("b") != "" {
		t.Errorf("the newest links are of %q and %q", l.NewestProcess("a"), l.NewestProcess("b"))
	}
	moved = l.Changed.Next()
	first()
	first()
	select {
	case <-moved:
		t.Error("one of two links was closed, twice, and counted as the last one")
	default:
	}
	if !l.Has(old) {
		t.Error("one link is left")
	}
	second()
	<-moved
	if l.Has(old) || !l.Has(now) || l.NewestProcess("a") != "2" {
		t.Error("the links of one process were closed, and not those of the other")
	}
	other()
	if len(l.open) > 0 {
		t.Errorf("%d processes are remembered", len(l.open))
	}
}

func TestLinkOfMissedProcess(t *testing.T) {
	t.Parallel()
	var l Links
	leader, other := Origin{"a", "1"}, Origin{"a", "2"}
	first := l.Add(leader, "")
	mark := l.MarkMissed(leader)
	if l.StillMissed(leader, mark) {
		t.Error("a process with a link counts as away")
	}
	first()
	l.Add(other, "")()
	if !l.StillMissed(leader, mark) || l.StillMissed(other, mark) {
		t.Error("the process without a link is not the one that is away")
	}
	l.Add(leader, "")()
	if l.StillMissed(leader, mark) {
		t.Error("a process that returned meanwhile counts as away")
	}
	if mark = l.MarkMissed(leader); !l.StillMissed(leader, mark) {
		t.Error("a process that is missed again does not count as away")
	}
	l.MarkMissed(other)
	if l.StillMissed(leader, mark) {
		t.Error("a process that is no longer missed counts as away")
	}
}
