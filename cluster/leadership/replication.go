package leadership

import (
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// mostBehind is the greatest number of log entries that a nonvoter fit for promotion may lack.
	mostBehind = 250
	// mostSilent is the greatest time since a nonvoter fit for promotion, or a voter that counts as alive, last acknowledged
	// entries. The leader sends requests every 200 ms, and gossip takes longer to notice that a node crashed.
	mostSilent = 2 * time.Second
)

// Replication records the last log entry that each follower acknowledged to this leader. The transport observes the
// acknowledgements; no other claim of a node about its log counts.
type Replication struct {
	mu        sync.Mutex
	term      uint64
	since     time.Duration // first acknowledgement in the term, on the monotonic clock
	followers map[raft.ServerID]Acknowledgement
}

// Acknowledgement is an answer to entries in the present term.
type Acknowledgement struct {
	Last      uint64        // index of an entry; the follower has it and all entries before it
	Committed uint64        // the leader's commit index when it sent the entries
	At        time.Duration // time of the answer, on the monotonic clock
}

// Observe records the answer to a request that did not fail. Raft's heartbeats name no entry, so they acknowledge none.
//
// It returns the number of entries that the follower acknowledged in this term and no longer has. Raft sends a follower one
// request with entries at a time, so an answer is never older than the acknowledgement before it. A follower removes entries of
// a term only for a leader of a later term, so a loss proves that its disk was set back.
func (r *Replication) Observe(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse, now time.Duration) (lost uint64) {
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
		r.term, r.since, r.followers = args.Term, now, make(map[raft.ServerID]Acknowledgement)
	}
	if had := r.followers[id].Last; resp.LastLog < had {
		lost = had - resp.LastLog
		delete(r.followers, id)
	}
	if resp.Success {
		r.followers[id] = Acknowledgement{Last: last, Committed: args.LeaderCommitIndex, At: now}
	}
	return lost
}

// Progress returns the last acknowledgement of each follower, in the term of the last one.
func (r *Replication) Progress() (term uint64, followers map[raft.ServerID]Acknowledgement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.term, maps.Clone(r.followers)
}

// IsSilent reports whether a node acknowledged nothing within mostSilent, although any node did so in this term before.
func (r *Replication) IsSilent(id raft.ServerID, term uint64, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.term == term && now-max(r.since, r.followers[id].At) > mostSilent
}

// IsUpToDate reports whether a node acknowledged in this term, within mostSilent, nearly all entries that were committed then.
// The comparison is not with the present commit index, because a follower of a busy leader is always behind that.
func (r *Replication) IsUpToDate(id raft.ServerID, term uint64, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.followers[id]
	return ok && r.term == term && now-a.At <= mostSilent && a.Last+mostBehind >= a.Committed
}
