package simtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/route"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/snowflake"
)

// process is one start of a member, with a client that continuously requests IDs from it.
type process struct {
	*node
	start   int        // number of this start among those of all nodes
	rng     *rand.Rand // only for run
	member  *member.Member
	router  *route.Router
	issuing kernel.Source
	raft    *raftPort
	gossip  *gossipPort

	up   atomic.Pointer[member.Member] // member, once it is open
	dead atomic.Bool                   // messages of the process no longer arrive
	stop chan struct{}
	done chan struct{} // closed when run returns

	issued  atomic.Int64 // time of the last issue, Unix ns
	last    atomic.Uint64
	refused atomic.Pointer[refusal]

	counting       atomic.Bool // clients of sequences run
	clients        sync.WaitGroup
	gave           [2]atomic.Int64 // times of the last relaxed and the last strict numbers, Unix ns
	refusedNumbers atomic.Pointer[error]
}

// newProcess starts a member. Requires n.mu.
func newProcess(n *node) (*process, error) {
	p := &process{node: n, stop: make(chan struct{}), done: make(chan struct{})}
	p.start = n.audit.begin(n.name)
	p.rng = p.source(ofProcess)
	p.raft, p.gossip = newRaftPort(n.net, p), newGossipPort(n.net, p)
	var seeds []string
	for _, o := range n.nodes {
		if o != n {
			seeds = append(seeds, o.gossipAddress())
		}
	}
	layout := n.layout
	n.current.Store(p)
	var err error
	p.member, err = member.Open(member.Config{
		Cluster: cluster.Config{
			Name: n.name, DataDir: n.dir, Storage: n.disk.storage(),
			Transport: p.raft, Gossip: p.gossip, GossipHost: n.ip().String(), GossipPort: gossipPortNumber,
			RaftAddress: n.raftAddress(), APIAddress: n.apiAddress(),
			Join: seeds, BootstrapExpect: n.expect, Timing: n.timing, Version: "simulated",
		},
		Clock: n.clock.source(), Initial: n.config(), Default: &layout, Lanes: n.lanes,
		Supported: n.supported, FinalizeAfter: n.finalize, Leader: p.ask, Logger: n.log.logger(n.name),
	})
	if err != nil {
		n.current.Store(nil)
		return nil, err
	}
	p.router = route.New(p.member, p)
	p.issuing = kernel.FromMember(p.member, p.router, func(context.Context, string) (bool, error) { return false, nil })
	p.up.Store(p.member)
	go p.run()
	if n.counted.Load() {
		p.count()
	}
	return p, nil
}

// The streams of a process's sources.
const (
	ofProcess = iota
	ofRelaxed
	ofStrict
	streams
)

// source returns the source of a stream.
func (p *process) source(stream int) *rand.Rand {
	return p.world.source(uint64(2 + p.start*streams + stream)) // 0 and 1 are those of the world
}

// opened returns the member after it has opened, and nil before.
func (p *process) opened() *member.Member { return p.up.Load() }

// end stops the clients. The caller stops the member.
func (p *process) end() {
	close(p.stop)
	<-p.done
	p.clients.Wait()
	p.dead.Store(true)
	p.counts.end(p.member.Node())
}

// run sends the requests of the client, and kills the process when the member reports that it must halt.
func (p *process) run() {
	defer close(p.done)
	tick := time.NewTicker(20*time.Millisecond + time.Duration(p.rng.Int64N(int64(160*time.Millisecond))))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if !p.idle {
				p.request()
			}
		case <-p.member.Node().Failed():
			p.fail(p.member.Node().Failure())
			return
		case <-p.stop:
			return
		}
	}
}

func (p *process) fail(err error) {
	p.node.mu.Lock()
	p.failure = err
	p.node.mu.Unlock()
	go p.kill(p)
}

// request sends one request like a real client: usually for one ID,
// sometimes for many, sometimes for one above a known ID.
func (p *process) request() {
	count, after := uint32(1), uint64(0)
	switch p.rng.IntN(20) {
	case 0:
		count = 1 + p.rng.Uint32N(10_000)
	case 1, 2, 3:
		count = 1 + p.rng.Uint32N(10)
	case 4:
		after = p.audit.newest()
	}
	_ = p.issue(count, after)
}

// issue requests IDs and adds them to the audit.
func (p *process) issue(count uint32, after uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	before, floor := p.last.Load(), after
	issuer, err := p.member.Issuer(ctx, "")
	var ranges []allocator.Range
	if err == nil {
		ranges, err = issuer.Take(ctx, nil, count, after)
	}
	if p.dead.Load() {
		return errRefused // no client got the IDs
	}
	if !p.swap && p.lanes <= 1 { // lanes issue without a common order
		after = max(after, before)
	}
	p.audit.add(p, ranges, after)
	if n := len(ranges); n > 0 {
		r := ranges[n-1]
		p.last.Store(r.First + uint64(r.Count-1)*r.Step)
	}
	if err != nil {
		p.refused.Store(&refusal{err: err, at: time.Now()})
		p.audit.refuse()
		if !expected(err) && !(errors.Is(err, allocator.ErrInvalidArgument) && ofWrongClock(floor)) {
			p.audit.fault("%s refused with an unexpected error: %v", p.name, err)
		}
		return err
	}
	p.issued.Store(time.Now().UnixNano())
	return nil
}

// ofWrongClock reports whether an ID was issued by a clock that was ahead of the true time by more than
// members allow. After a reset of the observed clock, members refuse it.
func ofWrongClock(id uint64) bool {
	return time.Until(snowflake.Default().TimeOf(id)) > limits.DefaultOffset+5*time.Millisecond // --max-ahead
}

// expected reports whether an error is of the kinds that callers know how to handle.
func expected(err error) bool {
	var ended *allocator.WindowEndedError
	var workers *allocator.WorkersExhaustedError
	var behind *clock.BehindError
	var skew *clock.SkewError
	return errors.As(err, &ended) || errors.As(err, &workers) || errors.As(err, &behind) || errors.As(err, &skew) ||
		errors.Is(err, allocator.ErrClosed) || errors.Is(err, member.ErrNoLeader) || errors.Is(err, context.DeadlineExceeded)
}

// refusal is a request that was refused.
type refusal struct {
	err error
	at  time.Time
}

// lastRefusal returns the last refusal. It has no error before the first.
func (p *process) lastRefusal() refusal {
	if r := p.refused.Load(); r != nil {
		return *r
	}
	return refusal{}
}

// lastError returns the error of the last refusal.
func (p *process) lastError() error { return p.lastRefusal().err }
