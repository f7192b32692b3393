package cluster

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A voter is silent after mostSilent without an acknowledgement in the term, which began with the first one of any node.
func TestSilentVoters(t *testing.T) {
	t.Parallel()
	const began, last = time.Hour, time.Hour + 10*time.Second
	var r replication
	if r.silent("a", 3, began) {
		t.Error("a voter is silent before the term has acknowledgements")
	}
	for _, at := range []time.Duration{began, last} {
		r.observe("a", &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900}, &raft.AppendEntriesResponse{Term: 3, Success: true}, at)
	}
	r.observe("b", &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900}, &raft.AppendEntriesResponse{Term: 3}, last)
	for id, heard := range map[raft.ServerID]time.Duration{"a": last, "b": began, "c": began} {
		if r.silent(id, 3, heard+mostSilent) || !r.silent(id, 3, heard+mostSilent+1) {
			t.Errorf("%s is not silent from %v on, or it is before", id, heard+mostSilent)
		}
		if r.silent(id, 4, heard+time.Minute) {
			t.Errorf("%s is silent in a term without acknowledgements", id)
		}
	}
}
