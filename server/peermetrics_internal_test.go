package server

import (
	"maps"
	"testing"

	"github.com/snowraft/snowraft/cluster"
)

func TestPeerLabels(t *testing.T) {
	t.Parallel()
	members := []cluster.Member{{ID: "1", Name: "a"}, {ID: "2", Name: "b"}, {ID: "3", Name: "c"}, {ID: "4", Name: "c"}, {ID: "5"}, {ID: "6"}, {ID: "7", Name: "a"}, {ID: "8", Name: "5"}}
	want := map[string]string{"2": "b", "3": "3", "4": "4", "5": "5", "6": "6", "7": "a", "8": "8"}
	if got := peerLabels(members, "1"); !maps.Equal(got, want) {
		t.Errorf("peerLabels() = %v, want %v", got, want)
	}
}
