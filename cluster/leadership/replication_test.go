package leadership

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A voter is silent after mostSilent without an acknowledgement in the term, which began with the first one of any node.
func TestSilentVoters(t *testing.T) {
	t.Parallel()
	const began, last = time.Hour, time.Hour + 10*time.Second
	var r Replication
	if r.IsSilent("a", 3, began) {
		t.Error("a voter is silent before the term has acknowledgements")
	}
	for _, at := range []time.Duration{began, last} {
		r.Observe("a", &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900}, &raft.AppendEntriesResponse{Term: 3, Success: true}, at)
	}
	r.Observe("b", &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900}, &raft.AppendEntriesResponse{Term: 3}, last)
	for id, heard := range map[raft.ServerID]time.Duration{"a": last, "b": began, "c": began} {
		if r.IsSilent(id, 3, heard+mostSilent) || !r.IsSilent(id, 3, heard+mostSilent+1) {
			t.Errorf("%s is not silent from %v on, or it is before", id, heard+mostSilent)
		}
		if r.IsSilent(id, 4, heard+time.Minute) {
			t.Errorf("%s is silent in a term without acknowledgements", id)
		}
	}
}

// A node becomes a voter only if this leader recently saw it acknowledge entries in this term.
func TestOnlyReplicationIsObserved(t *testing.T) {
	t.Parallel()
	const now = time.Hour
	entries := make([]*raft.Log, 3)
	for name, c := range map[string]struct {
		args    raft.AppendEntriesRequest
		resp    raft.AppendEntriesResponse
		later   time.Duration
		term    uint64
		follows bool
	}{
		"all":            {args: raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900, LeaderCommitIndex: 900}, resp: raft.AppendEntriesResponse{Term: 3, Success: true}, term: 3, follows: true},
		"nearly all":     {args: raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 647, Entries: entries, LeaderCommitIndex: 900}, resp: raft.AppendEntriesResponse{Term: 3, Success: true}, term: 3, follows: true},
		"behind":         {args: raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 649, LeaderCommitIndex: 900}, resp: raft.AppendEntriesResponse{Term: 3, Success: true}, term: 3},
		"heartbeat":      {args: raft.AppendEntriesRequest{Term: 3}, resp: raft.AppendEntriesResponse{Term: 3, Success: true}, term: 3},
		"refused":        {args: raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900}, resp: raft.AppendEntriesResponse{Term: 3, LastLog: 900}, term: 3},
		"another answer": {args: raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900}, resp: raft.AppendEntriesResponse{Term: 2, Success: true}, term: 3},
		"earlier term":   {args: raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900}, resp: raft.AppendEntriesResponse{Term: 3, Success: true}, term: 4},
		"long ago":       {args: raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 900}, resp: raft.AppendEntriesResponse{Term: 3, Success: true}, term: 3, later: mostSilent + 1},
	} {
		var r Replication
		r.Observe("a", &c.args, &c.resp, now)
		if got := r.IsUpToDate("a", c.term, now+c.later); got != c.follows {
			t.Errorf("%s: follows() = %t", name, got)
		}
		if r.IsUpToDate("b", c.term, now) {
			t.Errorf("%s: another node follows", name)
		}
	}
}

// A busy leader commits many entries between two answers. It compares an answer with the commit index at the time of sending.
func TestNonvoterOfBusyLeaderIsFit(t *testing.T) {
	t.Parallel()
	var r Replication
	for _, last := range []uint64{1_000, 100_000} {
		r.Observe("a", &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: last, LeaderCommitIndex: last}, &raft.AppendEntriesResponse{Term: 1, Success: true}, 0)
		if !r.IsUpToDate("a", 1, 0) {
			t.Errorf("follows() = false for a node that has all %d entries", last)
		}
	}
	r.Observe("a", &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1_000, LeaderCommitIndex: 100_000}, &raft.AppendEntriesResponse{Term: 1, Success: true}, 0)
	if r.IsUpToDate("a", 1, 0) {
		t.Error("follows() = true for a node that is behind")
	}
}
