package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"github.com/hashicorp/raft"
)

// Guarded is a transport that passes only messages whose values raft can handle. Raft panics over some values, and others
// would make numbers overflow. The transport checks requests and answers, because a stranger may be at a member's address. It
// does not detect false values within these bounds.
type Guarded struct {
	Transport
	bounds func() Bounds
	ready  <-chan struct{} // closed when bounds may be called
	// appended is called with each request for entries, and its answer, that did not fail.
	appended func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse)
	// received is called with each request before raft handles it.
	received func(command any)
	// refused is called with the reason for which a request was refused; it is an ErrOpposed if another node refused one of
	// this leader.
	refused func(error)
	consume chan raft.RPC
	closed  chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

// NewGuarded returns a guarded transport around inner. See the fields of Guarded for the functions.
func NewGuarded(inner Transport, ready <-chan struct{}, bounds func() Bounds,
	appended func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse), received func(command any), refused func(error),
) *Guarded {
	g := &Guarded{
		Transport: inner, ready: ready, bounds: bounds, appended: appended, received: received, refused: refused,
		consume: make(chan raft.RPC), closed: make(chan struct{}),
	}
	g.wg.Go(g.run)
	return g
}

// Consumer implements raft.Transport.
func (g *Guarded) Consumer() <-chan raft.RPC { return g.consume }

// SetHeartbeatHandler implements raft.Transport. It does nothing, and so disables raft's fast path for heartbeats, which can
// race with writes to the log (hashicorp/raft#695). Heartbeats take the path of all other messages.
func (*Guarded) SetHeartbeatHandler(func(raft.RPC)) {}

// Close implements raft.WithClose.
func (g *Guarded) Close() error {
	g.once.Do(func() { close(g.closed) })
	err := g.Transport.Close()
	g.wg.Wait()
	return err
}

func (g *Guarded) run() {
	select {
	case <-g.ready:
	case <-g.closed:
		return
	}
	for {
		select {
		case rpc := <-g.Transport.Consumer():
			if !g.pass(rpc) {
				return
			}
		case <-g.closed:
			return
		}
	}
}

// pass hands a request to raft or refuses it; it returns false once the transport is closed. It waits for raft's answer, so
// that the next request is checked against the log after this one.
func (g *Guarded) pass(rpc raft.RPC) bool {
	if err := g.bounds().checkRequest(rpc.Command); err != nil {
		g.refused(err)
		go func() { // runs as long as the stranger takes, even after Close
			if rpc.Reader != nil {
				_, _ = io.Copy(io.Discard, rpc.Reader) // the next request follows the snapshot
			}
			rpc.Respond(nil, err)
		}()
		return true
	}
	g.received(rpc.Command)
	answers := make(chan raft.RPCResponse, 1)
	to := rpc.RespChan
	rpc.RespChan = answers
	select {
	case g.consume <- rpc:
	case <-g.closed:
		return false
	}
	select {
	case answer := <-answers:
		to <- answer
		return true
	case <-g.closed:
		return false
	}
}

// StandForElection makes raft stand for election at once, like the target of a leadership transfer: the other voters vote although they
// have heard a leader. It reports whether raft took the request.
func (g *Guarded) StandForElection(ctx context.Context) bool {
	if g.mayStand() != nil {
		return false
	}
	request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	select {
	case g.consume <- raft.RPC{Command: request, RespChan: make(chan raft.RPCResponse, 1)}:
		return true
	case <-g.closed:
	case <-ctx.Done():
	}
	return false
}

// mayStand returns an error if this node must not stand for election.
func (g *Guarded) mayStand() error {
	select {
	case <-g.ready:
		if g.bounds().Witness {
			return errWitness
		}
	default: // nothing was received yet
	}
	return nil
}

// RequestVote implements raft.Transport.
func (g *Guarded) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	if err := g.mayStand(); err != nil {
		return err
	}
	err := g.Transport.RequestVote(id, target, args, resp)
	return g.checkAnswer(err, resp.Term)
}

// RequestPreVote implements raft.WithPreVote.
func (g *Guarded) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if err := g.mayStand(); err != nil {
		return err
	}
	err := g.Transport.RequestPreVote(id, target, args, resp)
	return g.checkAnswer(err, resp.Term)
}

// AppendEntries implements raft.Transport.
func (g *Guarded) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	err := g.Transport.AppendEntries(id, target, args, resp)
	for again := 0; again < PoolSize && broken(err); again++ {
		*resp = raft.AppendEntriesResponse{}
		err = g.Transport.AppendEntries(id, target, args, resp)
	}
	g.noteOpposition(err)
	if err = g.checkAnswer(err, resp.Term); err == nil {
		g.appended(id, args, resp)
	}
	return err
}

// noteOpposition reports an error of a node that knows other entries to be committed. Raft's messages carry only its text.
func (g *Guarded) noteOpposition(err error) {
	if err != nil && strings.Contains(err.Error(), ErrContradicts.Error()) {
		g.refused(fmt.Errorf("%w: %w", ErrOpposed, err))
	}
}

// broken reports whether a request failed because the other side had closed the connection. Raft's pool holds connections
// that broke while they were idle. A leader tries the next connection at once, so that its followers hear it again before
// they count it as gone, see succession.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// AppendEntriesPipeline implements raft.Transport. It offers no pipeline: a wedged one looks healthy (hashicorp/raft#612), and
// its answers would pass unchecked and unobserved.
func (*Guarded) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// InstallSnapshot implements raft.Transport.
func (g *Guarded) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	err := g.Transport.InstallSnapshot(id, target, args, resp, data)
	g.noteOpposition(err)
	return g.checkAnswer(err, resp.Term)
}

// checkAnswer checks the term of an answer, because raft adopts a later term from an answer.
func (g *Guarded) checkAnswer(err error, term uint64) error {
	if err != nil {
		return err
	}
	select {
	case <-g.ready:
		return g.bounds().checkTerm(term)
	case <-g.closed:
		return raft.ErrTransportShutdown
	}
}
