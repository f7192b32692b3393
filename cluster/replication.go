package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// replication records the last log entry that each follower acknowledged to this leader. The transport observes the
// acknowledgements; no other claim of a node about its log counts.
type replication struct {
	mu        sync.Mutex
	term      uint64
	followers map[raft.ServerID]acknowledged
}

// acknowledged is an answer to entries in the present term.
type acknowledged struct {
	last      uint64        // index of an entry; the follower has it and all entries before it
	committed uint64        // the leader's commit index when it sent the entries
	at        time.Duration // time of the answer, on the monotonic clock
}

// observe records the answer to a request that did not fail. Raft's heartbeats name no entry, so they acknowledge none.
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

// follows reports whether a node acknowledged in this term, within mostSilent, nearly all entries that were committed then.
// The comparison is not with the present commit index, because a follower of a busy leader is always behind that.
func (r *replication) follows(id raft.ServerID, term uint64, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.followers[id]
	return ok && r.term == term && now-a.at <= mostSilent && a.last+mostBehind >= a.committed
}
