package member

import (
	"testing"

	"github.com/snowraft/snowraft/fsm"
)

func TestCheckpointsFollowEachOther(t *testing.T) {
	m := openOne(t)
	var last uint64
	for i := range 3 {
		if err := m.checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		var index uint64
		m.fsm.View(func(s *fsm.State) { index, _ = s.LastCheckpoint() })
		if index <= last {
			t.Fatalf("checkpoint %d is at index %d, after %d", i, index, last)
		}
		last = index
	}
	if err := m.node.Failure(); err != nil {
		t.Errorf("replicas that agree stopped the member: %v", err)
	}
}
