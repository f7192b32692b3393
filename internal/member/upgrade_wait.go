package member

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
)

const (
	// stableFor is the time for which nothing may have blocked an upgrade before the leader finalizes it. In that time, an
	// operator can notice that the new program is worse, and return to the old one.
	stableFor = time.Hour
	// mostUnobserved is the longest time between two observations. After a longer one, the process did not run, and the
	// leader's knowledge of the other members is outdated.
	mostUnobserved = time.Minute
	// foundedWithin is the time for which the leader that sets up a new cluster finalizes an upgrade without waiting: no
	// other program has run there.
	foundedWithin = 10 * time.Second
	// foundingPause is the longest time for which that leader waits for the other members' reports before it sets the cluster
	// up. So whoever finds a new cluster ready can use all commands that its members know.
	foundingPause = 2 * time.Second
)

// upgradeWait measures the time for which one leader, in one term, has seen all servers of the Raft configuration alive
// and aware of a newer fsm_version than the one in use. The time begins again when a server is added, removed, started
// or not alive.
type upgradeWait struct {
	after time.Duration // required time
	began time.Duration // monotonic time of the term's begin
	// founding reports that the leader sets up a new cluster.
	founding bool

	mu       sync.Mutex
	known    map[string]program // keyed by ID of the server; nil while something blocks
	since    time.Duration      // monotonic time at which the measured time began
	observed time.Duration      // monotonic time of the last observation
}

// program is a server's count of starts and the newest fsm_version that the server knows.
type program struct {
	starts   uint64
	commands uint32
}

// observe notes the present state of an upgrade and of the servers. due reports whether the required time is over, begun
// whether it has just begun.
func (w *upgradeWait) observe(now time.Duration, u Upgrade, servers []cluster.Member, auto bool) (due, begun bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	founded := w.founding && now-w.began < foundedWithin
	unobserved := now-w.observed > mostUnobserved
	w.observed = now
	if !u.free() || !auto && !founded {
		w.known = nil
		return false, false
	}
	known := make(map[string]program)
	for _, s := range servers {
		known[s.ID] = program{s.Starts, s.Commands}
	}
	if unobserved || !maps.Equal(w.known, known) {
		w.known, w.since, begun = known, now, true
	}
	return founded || now-w.since >= w.after, begun
}

// pauses reports whether the leader of a new cluster, which uses an fsm_version, still waits for the members' reports.
func (w *upgradeWait) pauses(now time.Duration, used uint32) bool {
	return w.founding && used < fsm.Version && now-w.began < foundingPause
}

// left returns the time until the version is raised; ok is false if something blocks.
func (w *upgradeWait) left(now time.Duration) (d time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.since+w.after-now, 0), w.known != nil
}

// finalizeIfDue is the leader's duty to finalize an upgrade that is due.
func (lt *leaderTerm) finalizeIfDue(ctx context.Context) error {
	m := lt.m
	servers := m.node.Members()
	u := upgradeOf(m.fsmVersion(), servers)
	due, begun := lt.upgrade.observe(m.monotonic(), u, servers, m.raisesItself())
	if due {
		return m.raiseVersion(ctx, u)
	}
	if begun {
		m.logger.Info("newer commands known by all members; finalizing the upgrade later", "from", u.Used, "to", u.Next, "after", lt.upgrade.after)
	}
	return nil
}
