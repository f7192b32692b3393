package simtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/test/seed"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// someDay is the time at which simulations begin. The first day of a bubble is
// before the layouts' epochs.
var someDay = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// options describes a cluster. The zero value of a field means the default.
type options struct {
	day       time.Time      // begin of the simulation; default someDay
	members   int            // default 3
	swap      bool           // rollback policy swap instead of refuse
	maxWindow time.Duration  // default 10 min
	layout    snowflake.Spec // default snowflake.Default
	lanes     int            // lanes per member; default 1
	timing    cluster.Timing // default the product's, with promotions after 3 s
	supported []uint32       // newest supported fsm_version, by member; default the build's
	finalize  time.Duration  // time after which a leader finalizes an upgrade; default 1 h
	manual    bool           // operators finalize upgrades
	quick     bool           // messages of Raft and writes of the log take up to 1 ms; default up to a drawn time of at most 30 ms
	idle      bool           // no clients request IDs
	sequences []rules        // sequences of the other clients; default none
	pace      time.Duration  // least time between requests of those clients; default 100 ms
	prefix    string         // prefix of the members' names; default "m"
	unaudited bool           // disks are set back, or there are two clusters, so IDs may repeat and replicas may differ
	number    uint64         // distinguishes the worlds of one test
}

// world is a simulated cluster with its machines, network and clients.
type world struct {
	*testing.T
	options
	seed     uint64
	rng      *rand.Rand // source of the faults; only for the test's goroutine
	net      *network
	audit    *audit
	numbers  *numbers
	log      *journal
	base     string     // directory of the identities
	roster   sync.Mutex // guards nodes; the test's goroutine, the only writer, reads without it
	nodes    []*node
	down     *node // a nonvoter that is to stay down; nil: none
	downID   string
	machines int // made so far
	counts   counts
	ending   sync.WaitGroup // cleanups of killed processes

	stopWatching func()
	stopChanging func()
	counted      atomic.Bool // the sequences exist
}

// simulate runs a test with a cluster that issues IDs.
func simulate(t *testing.T, o options, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o)
		for range w.members {
			w.addNode(w.members)
		}
		w.startAll()
		w.untilAllIssue(30 * time.Second)
		if len(w.sequences) > 0 {
			w.createSequences()
			w.untilAllIssue(recovery)
		}
		test(w)
	})
}

func newWorld(t *testing.T, o options) *world {
	if o.day.IsZero() {
		o.day = someDay
	}
	time.Sleep(time.Until(o.day)) // the bubble's time: it starts in the year 2000
	if o.timing.PromoteAfter == 0 {
		o.timing.PromoteAfter = 3 * time.Second
	}
	if o.members == 0 {
		o.members = 3
	}
	if o.maxWindow == 0 {
		o.maxWindow = 10 * time.Minute
	}
	if o.layout.Name == "" {
		o.layout = snowflake.Default().Spec()
	}
	if o.pace == 0 {
		o.pace = 100 * time.Millisecond
	}
	if o.prefix == "" {
		o.prefix = "m"
	}
	w := &world{
		T: t, options: o, seed: seedOf(t) + o.number, log: newJournal(t), audit: newAudit(snowflake.MustNew(o.layout)),
	}
	w.rng, w.net = w.source(0), newNetwork(w.source(1))
	if !w.quick {
		w.net.slow()
	}
	w.numbers = newNumbers(w.audit.fault)
	w.base = t.TempDir() // removed after end
	w.stopWatching = w.watchClocks()
	t.Cleanup(w.end)
	return w
}

// ofChanges is the stream of the first changer, beyond those of processes.
const ofChanges = 1 << 32

// source returns a source of random numbers for one goroutine. Each of them has its own stream.
func (w *world) source(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(w.seed, stream)) }

// seedOf returns the seed of the world: SNOWRAFT_SIM_SEED, or the seed of the commit.
func seedOf(t *testing.T) uint64 {
	text := os.Getenv("SNOWRAFT_SIM_SEED")
	if text == "" {
		return seed.Of(t)
	}
	s, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SNOWRAFT_SIM_SEED: %v", err)
	}
	t.Logf("SNOWRAFT_SIM_SEED=%d", s)
	return s
}

// config returns the configuration of a new cluster.
func (w *world) config() *commandv1.Config {
	c := &commandv1.Config{
		MaxWindowMs: w.maxWindow.Milliseconds(), WaitThresholdMs: 1000, MaxClockOffsetMs: 500,
		Rollback:    commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
	}
	if w.manual {
		c.Upgrades = commandv1.Upgrades_UPGRADES_MANUAL
	}
	if w.swap {
		c.Rollback = commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP
	}
	return c
}

// end heals all faults, audits, and stops all processes, because a bubble ends
// only after all of its goroutines.
func (w *world) end() {
	w.net.heal()
	w.stopWatching()
	if w.stopChanging != nil {
		w.stopChanging()
	}
	if !w.unaudited {
		w.verify()
	}
	if w.Failed() {
		w.log.dump(w.T)
	}
	for _, n := range w.nodes {
		n.crash()
	}
	w.ending.Wait()
	time.Sleep(3 * streamTimeout) // memberlist does not wait for its own probes
}

// live returns the running nodes.
func (w *world) live() []*node {
	w.roster.Lock()
	defer w.roster.Unlock()
	return slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return n.proc() == nil })
}

// leader waits for a leader that is ready, and returns its node.
func (w *world) leader() *node {
	w.Helper()
	var leader *node
	w.until(30*time.Second, "there is a leader", func() bool {
		leader = w.leaderNow()
		return leader != nil
	})
	return leader
}

// leaderNow returns the leader of the highest term, or nil. An isolated leader of
// an earlier term may not know of its successor yet.
func (w *world) leaderNow() (leader *node) {
	var term uint64
	for _, n := range w.live() {
		p := n.proc()
		if p == nil || p.opened() == nil { // ended just now, or not open yet
			continue
		}
		if raft := p.opened().Node(); raft.IsLeader() && raft.Term() > term {
			leader, term = n, raft.Term()
		}
	}
	return leader
}

// follower returns a node that runs and does not lead.
func (w *world) follower() *node {
	w.Helper()
	leader := w.leader()
	for _, n := range w.live() {
		if n != leader {
			return n
		}
	}
	w.Fatal("no follower")
	return nil
}

// others returns the running nodes without n.
func (w *world) others(n *node) []*node {
	return slices.DeleteFunc(w.live(), func(o *node) bool { return o == n })
}

// pass lets time pass.
func (w *world) pass(d time.Duration) { time.Sleep(d) }

// until lets time pass until a condition holds.
func (w *world) until(limit time.Duration, what string, ok func() bool) time.Duration {
	w.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > limit {
			w.Fatalf("not within %v: %s\n%s", limit, what, w.status())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(start)
}

// untilAllIssue waits until each live member has answered a request made from now on.
func (w *world) untilAllIssue(limit time.Duration) time.Duration {
	w.Helper()
	return w.untilIssue(limit, w.live()...)
}

func (w *world) untilIssue(limit time.Duration, nodes ...*node) time.Duration {
	w.Helper()
	since := time.Now()
	took := w.until(limit, "all nodes issue IDs", func() bool {
		for _, n := range nodes {
			p := n.proc()
			if p == nil || p.issued.Load() <= since.UnixNano() && (!w.idle || p.issue(1, 0) != nil) {
				return false
			}
		}
		return true
	})
	// Clients of sequences send requests less often, and wait for lost calls.
	const longer = 6 * time.Second
	w.until(limit+longer-took, "all nodes issue numbers", func() bool {
		for _, n := range nodes {
			if p := n.proc(); p == nil || !p.gives(since) {
				return false
			}
		}
		return true
	})
	return took
}

// status describes all members for a failure message.
func (w *world) status() string {
	text := fmt.Sprintf("at %v\n", time.Since(someDay))
	for _, n := range w.nodes {
		p := n.proc()
		if p == nil {
			text += n.name + ": down\n"
			continue
		}
		raft := p.member.Node()
		leader, _ := raft.Leader()
		text += fmt.Sprintf("%s: term %d, leads %v, follows %s, applied %d, clock %v off, last errors %v and %v, lanes %+v\n", n.name,
			raft.Term(), raft.IsLeader(), leader.Name, raft.AppliedIndex(), p.member.Clock().Offset(), p.lastError(), p.lastErrorOfSequences(), p.member.Lanes())
	}
	return text + w.net.String()
}
