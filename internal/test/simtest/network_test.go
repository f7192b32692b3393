package simtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// plane is a kind of traffic.
type plane int

const (
	raftPlane plane = iota
	gossipPlane
	apiPlane
	planes
)

func (p plane) String() string { return [...]string{"raft", "gossip", "api"}[p] }

var allPlanes = []plane{raftPlane, gossipPlane, apiPlane}

// link is one direction between two nodes.
type link struct {
	plane    plane
	from, to *node
}

var (
	errRefused error = syscall.ECONNREFUSED
	errReset   error = syscall.ECONNRESET
	errTimeout       = errors.New("i/o timeout")
	errOther         = errors.New("another node has the address")
)

// network decides whether and when messages arrive, and when disks have written.
type network struct {
	mu    sync.Mutex
	rng   *rand.Rand
	cut   map[link]bool
	walls map[link]bool         // new connections on the Raft plane are refused
	loss  [planes]float64       // share of messages lost at random
	delay [planes]time.Duration // greatest latency between two nodes
	disk  time.Duration         // greatest time of a write to a log
	nodes map[string]*node      // nodes by each of their addresses
}

func newNetwork(rng *rand.Rand) *network {
	return &network{
		rng: rng, cut: make(map[link]bool), walls: make(map[link]bool), nodes: make(map[string]*node),
		delay: [planes]time.Duration{time.Millisecond, time.Millisecond, 2 * time.Millisecond}, disk: time.Millisecond,
	}
}

// slow draws how long messages of Raft and writes of the log take, so that many commands meet others before they commit.
func (n *network) slow() {
	const most = 30 * time.Millisecond
	n.delay[raftPlane], n.disk = n.within(most), n.within(most)
}

// block cuts the way from some nodes to others, in this direction only.
func (n *network) block(from, to []*node, on ...plane) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range on {
		for _, a := range from {
			for _, b := range to {
				n.cut[link{p, a, b}] = a != b
			}
		}
	}
}

// part cuts the way between two groups of nodes.
func (n *network) part(a, b []*node, on ...plane) {
	n.block(a, b, on...)
	n.block(b, a, on...)
}

// lose drops a share of messages at random.
func (n *network) lose(share float64, on ...plane) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range on {
		n.loss[p] = share
	}
}

// wall makes a middlebox refuse new connections between two groups of nodes, in this direction only. Open connections stay.
func (n *network) wall(from, to []*node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range from {
		for _, b := range to {
			n.walls[link{raftPlane, a, b}] = a != b
		}
	}
}

// refuses reports whether a middlebox refuses a connection between two processes.
func (n *network) refuses(from, to *process) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.walls[link{raftPlane, from.node, to.node}]
}

// connects reports whether the Raft plane is open between two nodes in both directions.
func (n *network) connects(from, to *node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.cut[link{raftPlane, from, to}] && !n.cut[link{raftPlane, to, from}]
}

// heal makes all messages arrive again.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	clear(n.walls)
	n.loss = [planes]float64{}
}

// passes reports whether a message from a process to another arrives. Messages that a
// process sends after it ended never arrive.
func (n *network) passes(p plane, from, to *process) bool {
	if from.dead.Load() || to.dead.Load() {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.cut[link{p, from.node, to.node}] && (n.loss[p] == 0 || n.rng.Float64() >= n.loss[p])
}

// latency returns the time that a message takes.
func (n *network) latency(p plane) time.Duration { return n.within(n.delay[p]) }

// write takes the time of a write to a log.
func (n *network) write() { time.Sleep(n.within(n.disk)) }

// within returns a positive time up to a greatest one.
func (n *network) within(most time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return 1 + time.Duration(n.rng.Int64N(int64(most)))
}

// at returns the node with an address.
func (n *network) at(address string) *node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nodes[address]
}

func (n *network) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var cuts []string
	for l, is := range n.cut {
		if is {
			cuts = append(cuts, fmt.Sprintf("%v %s->%s", l.plane, l.from.name, l.to.name))
		}
	}
	slices.Sort(cuts)
	return fmt.Sprintf("cut: %s; loss %v\n", strings.Join(cuts, ", "), n.loss)
}
