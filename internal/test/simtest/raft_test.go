package simtest

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/transport"
)

// Timeout is the time that a message waits for an answer that does not come.
const transportTimeout = 5 * time.Second

// raftPort is a process's Raft transport: Raft's own in-memory transport with
// the faults of the network. Requests and answers get lost separately.
type raftPort struct {
	*raft.InmemTransport
	net  *network
	self *process

	mu    sync.Mutex
	known map[*process]func() // functions that close the connection, by the process that answered the handshake
}

func newRaftPort(net *network, self *process) *raftPort {
	// The in-memory transport waits ten times as long for some answers.
	_, inmem := raft.NewInmemTransportWithTimeout(raft.ServerAddress(self.node.raftAddress()), transportTimeout/10)
	return &raftPort{InmemTransport: inmem, net: net, self: self, known: make(map[*process]func())}
}

// call carries one request for a node and its answer.
func (r *raftPort) call(id raft.ServerID, target raft.ServerAddress, request func(to *process) error) error {
	to := r.net.at(peer.HostPort(target)).proc()
	if err := r.reach(to); err != nil {
		return err
	}
	if err := r.greet(id, to); err != nil {
		return err
	}
	r.Connect(target, to.raft.InmemTransport)
	if err := request(to); err != nil {
		return err
	}
	return r.carry(to, r.self)
}

// present returns the present address of a node, like the product's transport. The Raft configuration may have an earlier one.
func (r *raftPort) present(id raft.ServerID, configured raft.ServerAddress) raft.ServerAddress {
	if self := r.self.opened(); self != nil {
		if address, err := self.Node().ServerAddr(id); err == nil {
			return address
		}
	}
	return configured
}

// reach carries a request to a process.
func (r *raftPort) reach(to *process) error {
	if to == nil || to.opened() == nil || r.self.opened() == nil {
		return errRefused
	}
	return r.carry(r.self, to)
}

// carry brings a message from one process to another. The host of a process that was killed resets its connections; only
// other losses are silent.
func (r *raftPort) carry(from, to *process) error {
	if r.self.dead.Load() {
		return errRefused // an ending process must not wait
	}
	time.Sleep(r.net.latency(raftPlane))
	if r.net.passes(raftPlane, from, to) {
		return nil
	}
	for _, p := range []*process{from, to} {
		if p.dead.Load() && !p.node.dark.Load() && r.net.connects(r.self.node, p.node) {
			return errReset
		}
	}
	time.Sleep(transportTimeout)
	return errTimeout
}

// reset ends the requests that a stopped process left unanswered.
func (r *raftPort) reset() {
	for {
		select {
		case rpc := <-r.Consumer():
			rpc.Respond(nil, errReset)
		default:
			return
		}
	}
}

// greet shakes hands before the first message to a process, which must be that of the node that is expected.
func (r *raftPort) greet(id raft.ServerID, to *process) error {
	if to.opened().Node().ID() != string(id) {
		return errOther
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[to] != nil {
		return nil
	}
	if r.net.refuses(r.self, to) {
		return errRefused
	}
	if err := r.shake(to); err != nil {
		return err
	}
	r.known[to] = to.opened().Node().Linked(r.self.opened().Node())
	return nil
}

// HangUp closes the connections to other processes. The others notice unless the network is cut.
func (r *raftPort) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for to, closed := range r.known {
		if r.net.connects(r.self.node, to.node) {
			closed()
		}
	}
	clear(r.known)
}

func (r *raftPort) shake(to *process) error {
	return r.self.opened().Node().Handshake(to.opened().Node())
}

// Greet does what that of transport.StreamLayer does, or of transport.TermClient, between simulated nodes.
func (r *raftPort) Greet(id raft.ServerID, address raft.ServerAddress) error {
	to := r.net.at(string(address)).proc()
	if err := r.reach(to); err != nil {
		return err
	}
	if to.opened().Node().ID() != string(id) {
		return errOther
	}
	return r.shake(to)
}

// ProcessAt does what that of transport.StreamLayer does, or of transport.TermClient, between simulated nodes.
func (r *raftPort) ProcessAt(ctx context.Context, id raft.ServerID, address string) (string, error) {
	n := r.net.at(address)
	if n == nil {
		return "", errRefused
	}
	if !r.net.connects(r.self.node, n) || n.dark.Load() {
		<-ctx.Done()
		return "", ctx.Err()
	}
	to := n.proc()
	if err := r.reach(to); err != nil {
		return "", err
	}
	if r.net.refuses(r.self, to) {
		return "", errRefused
	}
	if to.opened().Node().ID() != string(id) {
		return "", errOther
	}
	return to.opened().Node().Process(), nil
}

// AskLoss does what that of transport.StreamLayer does, or of transport.TermClient, between simulated nodes.
func (r *raftPort) AskLoss(ctx context.Context, id raft.ServerID, address raft.ServerAddress, question transport.Loss) (transport.LossReply, error) {
	type answer struct {
		reply transport.LossReply
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		a.err = r.call(id, address, func(to *process) error {
			a.reply = to.opened().Node().Witness(ctx, r.self.opened().Node().ID(), question)
			return nil
		})
		answers <- a
	}()
	select {
	case a := <-answers:
		return a.reply, a.err
	case <-ctx.Done():
		return transport.LossReply{}, ctx.Err()
	}
}

// AskTerm does what that of transport.StreamLayer does, or of transport.TermClient, between simulated nodes.
func (r *raftPort) AskTerm(ctx context.Context, id raft.ServerID, address raft.ServerAddress) (uint64, error) {
	return answerOf(ctx, r, id, address, (*cluster.Node).Term)
}

// AskMark does what that of transport.StreamLayer does, or of transport.TermClient, between simulated nodes.
func (r *raftPort) AskMark(ctx context.Context, id raft.ServerID, address raft.ServerAddress) (transport.Mark, error) {
	return answerOf(ctx, r, id, address, (*cluster.Node).Mark)
}

// answerOf carries a question to a node, and its answer back.
func answerOf[T any](ctx context.Context, r *raftPort, id raft.ServerID, address raft.ServerAddress, question func(*cluster.Node) T) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		a.err = r.call(id, address, func(to *process) error {
			a.value = question(to.opened().Node())
			return nil
		})
		answers <- a
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// MeetLife implements lives.Dialer.
func (r *raftPort) MeetLife(ctx context.Context, _, address string) (lives.Relation, error) {
	to := r.net.at(address).proc()
	if err := r.reach(to); err != nil {
		return lives.Unrelated, err
	}
	return r.self.opened().Node().MeetLife(ctx, to.opened().Node())
}

// AppendEntriesPipeline returns the same error as the product's transport.
func (r *raftPort) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

func (r *raftPort) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	to = r.present(id, to)
	return r.call(id, to, func(*process) error { return r.InmemTransport.AppendEntries(id, to, args, resp) })
}

func (r *raftPort) RequestVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	to = r.present(id, to)
	return r.call(id, to, func(*process) error { return r.InmemTransport.RequestVote(id, to, args, resp) })
}

func (r *raftPort) RequestPreVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	to = r.present(id, to)
	return r.call(id, to, func(*process) error { return r.InmemTransport.RequestPreVote(id, to, args, resp) })
}

func (r *raftPort) InstallSnapshot(id raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	to = r.present(id, to)
	return r.call(id, to, func(*process) error {
		err := r.InmemTransport.InstallSnapshot(id, to, args, resp, data)
		if err == nil && resp.Success {
			n := r.net.at(peer.HostPort(to))
			n.installed.Add(1)
			n.counts.snapshots.Add(1)
		}
		return err
	})
}

func (r *raftPort) TimeoutNow(id raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	to = r.present(id, to)
	return r.call(id, to, func(*process) error { return r.InmemTransport.TimeoutNow(id, to, args, resp) })
}
