package simtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const gossipPortNumber = 7703

// node is one machine: its name, addresses, clock and disk outlive the processes on it.
type node struct {
	*world
	name      string
	number    int
	expect    int // bootstrap-expect
	supported uint32
	clock     *wrist
	installed atomic.Int64 // snapshots that a leader sent

	current atomic.Pointer[process] // nil while no process runs
	dark    atomic.Bool             // the machine has no power

	mu      sync.Mutex // guards the fields below, and the start of a process against its end
	disk    *disk
	dir     string // directory of the node's identity
	failure error  // reason of the last failed process
}

func (w *world) addNode(expect int) *node {
	w.Helper()
	w.machines++
	n := &node{
		world: w, number: w.machines, expect: expect,
		clock: newWrist(), disk: w.newDisk(),
	}
	n.name = fmt.Sprintf("%s%d", w.prefix, n.number)
	n.dir = n.newDir()
	if len(w.supported) >= n.number {
		n.supported = w.supported[n.number-1]
	}
	w.roster.Lock()
	w.nodes = append(w.nodes, n)
	w.roster.Unlock()
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	for _, a := range []string{n.raftAddress(), n.apiAddress(), n.gossipAddress()} {
		w.net.nodes[a] = n
	}
	return n
}

func (n *node) ip() net.IP            { return net.IPv4(10, 0, 0, byte(n.number)).To4() }
func (n *node) apiAddress() string    { return n.ip().String() + ":7700" }
func (n *node) raftAddress() string   { return n.ip().String() + ":7702" }
func (n *node) gossipAddress() string { return fmt.Sprintf("%v:%d", n.ip(), gossipPortNumber) }

// proc returns the process that runs on a node, or nil.
func (n *node) proc() *process {
	if n == nil {
		return nil
	}
	return n.current.Load()
}

// start starts a process on the content of the disk.
func (n *node) start() *node {
	n.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc() != nil {
		n.Fatalf("%s is already running", n.name)
	}
	n.dark.Store(false)
	if _, err := newProcess(n); err != nil {
		n.Fatalf("start %s: %v", n.name, err)
	}
	return n
}

// stop stops the process gracefully.
func (n *node) stop() error { return n.stopWithin(10 * time.Second) }

// stopWithin is stop with another limit of the time for everything before the end of the process.
func (n *node) stopWithin(limit time.Duration) error {
	p := n.proc()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := p.member.Close(ctx)
	n.current.Store(nil)
	p.end()
	return err
}

// crash kills the process: no later action of the process has an effect on others,
// and the next process finds the disk as it is now. The machine closes its connections.
func (n *node) crash() {
	if p := n.proc(); p != nil {
		n.kill(p)
	}
}

// unplug cuts the machine's power: it neither closes nor refuses connections.
func (n *node) unplug() {
	n.dark.Store(true)
	n.crash()
}

func (n *node) kill(p *process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.current.CompareAndSwap(p, nil) {
		return
	}
	p.dead.Store(true)  // before the copies; later writes are not acknowledged
	n.dir = n.copyDir() // the watermark must not be ahead of the log
	n.disk = n.disk.clone()
	n.ending.Go(func() {
		if !n.dark.Load() {
			time.Sleep(n.net.latency(raftPlane))
			p.raft.hangUp()
		}
		p.end()
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.member.Close(gone)
		if !n.dark.Load() {
			p.raft.reset()
		}
	})
}

// copyDir copies the identity and the watermark, because the dying process still holds the lock on its own directory.
func (n *node) copyDir() string {
	dir := n.newDir()
	for _, name := range []string{"member.json", "watermark"} {
		raw, err := os.ReadFile(filepath.Join(n.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), raw, 0o600)
		}
		if err != nil {
			n.Error(err)
		}
	}
	return dir
}

func (n *node) newDir() string {
	dir, err := os.MkdirTemp(n.base, n.name)
	if err != nil {
		n.Error(err)
	}
	return dir
}

// failed returns the reason for which the last process halted, or nil.
func (n *node) failed() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failure
}
