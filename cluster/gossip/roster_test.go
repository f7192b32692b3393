package gossip

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestRosterIsFull(t *testing.T) {
	t.Parallel()
	r := newRoster(3, time.Minute)
	for i := range 3 {
		if r.admit(strconv.Itoa(i), 0) != nil {
			t.Fatalf("node %d was refused", i)
		}
	}
	r.joined("0")
	r.joined("1")
	if r.admit("3", time.Minute) == nil {
		t.Error("a fourth node was admitted while memberlist may know three")
	}
	if r.admit("1", time.Minute) != nil {
		t.Error("a known node was refused")
	}
	if r.admit("3", time.Minute+1) != nil {
		t.Error("a fourth node was refused although one of three was never alive")
	}
	r.joined("3")
	r.left("1", 2*time.Minute)
	if r.admit("4", 3*time.Minute) == nil {
		t.Error("a node was admitted a minute after another left")
	}
	if r.admit("4", 4*time.Minute) != nil {
		t.Error("a node was refused long after another left")
	}
	r.joined("5")
	if len(r.names) > 3 {
		t.Errorf("%d names", len(r.names))
	}
}

func TestHintsAreBounded(t *testing.T) {
	t.Parallel()
	var hints []string
	for _, address := range []string{"a", "b", "c", "d", "b", "e"} {
		hints = addHint(hints, address)
	}
	if !slices.Equal(hints, []string{"c", "d", "b", "e"}) {
		t.Errorf("hints %v", hints)
	}
}
