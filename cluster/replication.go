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
	since     time.Duration // first acknowledgement in the term, on the monotonic clock
	followers map[raft.ServerID]acknowledged
}

// acknowledged is an answer to entries in the present term.
type acknowledged struct {
	last      uint64        // index of an entry; the follower has it and all entries before it
	committed uint64        // the leader's commit index when it sent the entries
	at        time.Duration // time of the answer, on the monotonic clock
}

// observe records the answer to a request that did not fail. Raft's heartbeats name no entry, so they acknowledge none.
//
// It returns the number of entries that the follower acknowledged in this term and no longer has. Raft sends a follower one
// request with entries at a time, so an answer is never older than the acknowledgement before it. A follower removes entries of
// a term only for a leader of a later term, so a loss proves that its disk was set back.
func (r *replication) observe(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse, now time.Duration) (lost uint64) {
	last := args.PrevLogEntry + uint64(len(args.Entries))
	if resp.Term != args.Term || last == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if args.Term < r.term {
		return 0
	}
	if args.Term > r.term {
		r.term, r.since, r.followers = args.Term, now, make(map[raft.ServerID]acknowledged)
	}
	if had := r.followers[id].last; resp.LastLog < had {
		lost = had - resp.LastLog
		delete(r.followers, id)
	}
	if resp.Success {
		r.followers[id] = acknowledged{last: last, committed: args.LeaderCommitIndex, at: now}
	}
	return lost
}

// silent reports whether a node acknowledged nothing within mostSilent, although any node did so in this term before.
func (r *replication) silent(id raft.ServerID, term uint64, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.term == term && now-max(r.since, r.followers[id].at) > mostSilent
}

// follows reports whether a node acknowledged in this term, within mostSilent, nearly all entries that were committed then.
// The comparison is not with the present commit index, because a follower of a busy leader is always behind that.
func (r *replication) follows(id raft.ServerID, term uint64, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.followers[id]
	return ok && r.term == term && now-a.at <= mostSilent && a.last+mostBehind >= a.committed
}
