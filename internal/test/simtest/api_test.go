package simtest

import (
	"context"
	"fmt"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	history "github.com/snowraft/snowraft/internal/position" // the tests have positions of their own
)

// callTimeout is the time that a member works for a caller without a deadline.
const callTimeout = 10 * time.Second

// apiPort is the connection of a process to the leader. It takes the place of gRPC.
type apiPort struct {
	net  *network
	from *process
	to   *node
}

// port returns a connection to another member.
func (p *process) port(leader cluster.Member) (*apiPort, error) {
	if leader.API == "" {
		return nil, fmt.Errorf("%w: its API address is unknown", member.ErrNoLeader)
	}
	return &apiPort{p.net, p, p.net.at(leader.API)}, nil
}

// ask implements member.Config.Leader.
func (p *process) ask(leader cluster.Member) (member.Leader, error) { return p.port(leader) }

// there calls a member over the network.
func there[T any](ctx context.Context, p *process, leader cluster.Member, do func(context.Context, *member.Member) (T, error)) (answer T, err error) {
	a, err := p.port(leader)
	if err != nil {
		return answer, err
	}
	return call(ctx, a, do)
}

// atLeader calls the leader once.
func atLeader[T any](ctx context.Context, p *process, do func(context.Context, *member.Member) (T, error)) (answer T, err error) {
	err = p.router.AtLeader(ctx, false, func(ctx context.Context) (err error) {
		answer, err = do(ctx, p.member)
		return err
	}, func(ctx context.Context, leader cluster.Member) (err error) {
		answer, err = there(ctx, p, leader, do)
		return err
	})
	return answer, err
}

// NextAtLeader implements route.Peers.
func (p *process) NextAtLeader(ctx context.Context, leader cluster.Member, name string, count uint64, requestID string) (member.Numbering, error) {
	return there(ctx, p, leader, func(ctx context.Context, m *member.Member) (member.Numbering, error) {
		return m.NextAtLeader(member.WithActor(ctx, anyone), name, count, requestID)
	})
}

// NextOfPeriod implements route.Peers.
func (p *process) NextOfPeriod(ctx context.Context, leader cluster.Member, name string, count uint64, r member.PeriodRequest) (member.Numbering, error) {
	return there(ctx, p, leader, func(ctx context.Context, m *member.Member) (member.Numbering, error) {
		return m.NextOfPeriod(member.WithActor(ctx, anyone), name, count, r)
	})
}

// LastAtLeader implements route.Peers.
func (p *process) LastAtLeader(ctx context.Context, leader cluster.Member, name string) (int64, bool, error) {
	type last struct {
		number int64
		ok     bool
	}
	answer, err := there(ctx, p, leader, func(ctx context.Context, m *member.Member) (l last, err error) {
		l.number, l.ok, err = m.LastAtLeader(ctx, name)
		return l, err
	})
	return answer.number, answer.ok, err
}

// call carries a request and its answer. If one of them is lost, the caller waits
// until its context ends, and the member may have served the request.
func call[T any](ctx context.Context, a *apiPort, do func(context.Context, *member.Member) (T, error)) (answer T, err error) {
	type reply struct {
		answer T
		err    error
	}
	replies := make(chan reply, 1)
	go func() {
		time.Sleep(a.net.latency(apiPlane))
		to := a.to.proc()
		if to == nil || to.opened() == nil {
			replies <- reply{err: fmt.Errorf("%w: %w", member.ErrNoLeader, errRefused)} // request not sent
			return
		}
		if !a.net.passes(apiPlane, a.from, to) {
			return
		}
		// Only the deadline of the caller's context reaches the member for certain.
		deadline, ok := ctx.Deadline()
		if !ok {
			deadline = time.Now().Add(callTimeout)
		}
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		var r reply
		r.answer, r.err = do(ctx, to.opened())
		time.Sleep(a.net.latency(apiPlane))
		if a.net.passes(apiPlane, to, a.from) {
			replies <- r
		}
	}()
	select {
	case r := <-replies:
		return r.answer, r.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

func (a *apiPort) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (allocator.Grant, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (allocator.Grant, error) { return m.AcquireWorker(ctx, r) })
}

func (a *apiPort) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (allocator.Grant, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (allocator.Grant, error) { return m.ExtendWindow(ctx, r) })
}

func (a *apiPort) ReleaseWorker(ctx context.Context, r allocator.ReleaseRequest) error {
	_, err := call(ctx, a, func(ctx context.Context, m *member.Member) (struct{}, error) {
		return struct{}{}, m.ReleaseWorker(ctx, r)
	})
	return err
}

func (a *apiPort) AllocateBlock(ctx context.Context, sequence string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (allocator.Block, error) {
		return m.AllocateBlock(ctx, sequence, count, key)
	})
}

func (a *apiPort) ReturnBlock(ctx context.Context, sequence string, token, unused uint64, key allocator.ReturnKey) error {
	_, err := call(ctx, a, func(ctx context.Context, m *member.Member) (struct{}, error) {
		return struct{}{}, m.ReturnBlock(ctx, sequence, token, unused, key)
	})
	return err
}

func (a *apiPort) Claim(ctx context.Context, p history.Position, witness string) error {
	_, err := call(ctx, a, func(ctx context.Context, m *member.Member) (struct{}, error) {
		return struct{}{}, m.Claim(ctx, p, witness)
	})
	return err
}

func (a *apiPort) SequenceGeneration(ctx context.Context, name string) (generation uint64, ok bool, err error) {
	found, err := call(ctx, a, func(ctx context.Context, m *member.Member) (*uint64, error) {
		generation, ok, err := m.SequenceGeneration(ctx, name)
		if !ok {
			return nil, err
		}
		return &generation, nil
	})
	if found == nil {
		return 0, false, err
	}
	return *found, true, nil
}

func (a *apiPort) LayoutExists(ctx context.Context, name string) (bool, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (bool, error) { return m.LayoutExists(ctx, name) })
}
