package transport

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// replicatesPoll is the interval between two checks of whether this node still replicates to a member.
const replicatesPoll = 50 * time.Millisecond

// Resuming is a transport that delays the error of a replication request until the member answers a heartbeat again. Raft's
// pause after an error doubles up to 10 s. Without the delay, a member that returns after such a time would hear its new
// leader at once, but would wait as long again for the log. Without the log, it issues nothing.
//
// Raft sends heartbeats from another goroutine, whose pause is at most half of the heartbeat timeout.
type Resuming struct {
	*Guarded
	// replicates reports whether this node leads in that term and replicates to the member.
	replicates func(id raft.ServerID, term uint64) bool

	mu      sync.Mutex
	waiting map[raft.ServerID]chan struct{} // closed at the next answer to a heartbeat
}

// NewResuming returns a transport that asks replicates whether this node leads in a term and replicates to a member.
func NewResuming(inner *Guarded, replicates func(id raft.ServerID, term uint64) bool) *Resuming {
	return &Resuming{Guarded: inner, replicates: replicates, waiting: make(map[raft.ServerID]chan struct{})}
}

// AppendEntries implements raft.Transport.
func (p *Resuming) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	err := p.Guarded.AppendEntries(id, target, args, resp)
	heartbeat := args.PrevLogEntry == 0 && len(args.Entries) == 0
	switch {
	case err == nil && heartbeat:
		p.noteHeartbeat(id)
	case err != nil && !heartbeat:
		p.awaitHeartbeat(id, args.Term)
	}
	return err
}

// InstallSnapshot implements raft.Transport.
func (p *Resuming) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	err := p.Guarded.InstallSnapshot(id, target, args, resp, data)
	if err != nil {
		p.awaitHeartbeat(id, args.Term)
	}
	return err
}

// noteHeartbeat is called when a member has answered a heartbeat.
func (p *Resuming) noteHeartbeat(id raft.ServerID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waiting, ok := p.waiting[id]; ok {
		close(waiting)
		delete(p.waiting, id)
	}
}

// nextHeartbeat returns the channel that is closed when a member answers the next heartbeat.
func (p *Resuming) nextHeartbeat(id raft.ServerID) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, ok := p.waiting[id]
	if !ok {
		waiting = make(chan struct{})
		p.waiting[id] = waiting
	}
	return waiting
}

// awaitHeartbeat waits until the member answers a heartbeat, this node no longer replicates to it, or the transport closes.
func (p *Resuming) awaitHeartbeat(id raft.ServerID, term uint64) {
	answered := p.nextHeartbeat(id)
	poll := time.NewTicker(replicatesPoll)
	defer poll.Stop()
	for p.replicates(id, term) {
		select {
		case <-answered:
			return
		case <-p.closed:
			return
		case <-poll.C:
		}
	}
}
