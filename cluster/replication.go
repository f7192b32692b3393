package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// replication records the last log entry that each follower acknowledged to this leader. The transport observes it, so
// that no other claim of a node about its own log counts.
type replication struct {
	mu        sync.Mutex
	term      uint64
	followers map[raft.ServerID]acknowledged
}

// acknowledged is an answer to entries in the present term.
type acknowledged struct {
	last      uint64        // the follower has this entry and all before it
	committed uint64        // by the leader, when it sent them
	at        time.Duration // on the monotonic clock
}

// observe takes the answer to a request that did not fail. Raft's heartbeats name no entry and acknowledge none.
func (r *replication) observe(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse, now time.Duration) {
	last := args.PrevLogEntry + uint64(len(args.Entries))
	if !resp.Success || resp.Term != args.Term || last == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if args.Term < r.term {
		return
	}
	if args.Term > r.term {
		r.term, r.followers = args.Term, make(map[raft.ServerID]acknowledged)
	}
	r.followers[id] = acknowledged{last: last, committed: args.LeaderCommitIndex, at: now}
}

// follows reports whether a node acknowledged in this term, a moment ago, nearly all that was committed then. Compared
// with what is committed now, a follower of a busy leader would always be behind.
func (r *replication) follows(id raft.ServerID, term uint64, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.followers[id]
	return ok && r.term == term && now-a.at <= mostSilent && a.last+mostBehind >= a.committed
}
