package simtest

import (
	"context"
	"fmt"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
)

// callTimeout is how long a member works for a caller that set no deadline.
const callTimeout = 10 * time.Second

// apiPort is how a process asks the member that leads: what gRPC is to the product.
type apiPort struct {
	net  *network
	from *process
	to   *node
}

// ask implements member.Config.Leader.
func (p *process) ask(leader cluster.Member) (member.Leader, error) {
	if leader.API == "" {
		return nil, fmt.Errorf("%w: its API address is not known yet", member.ErrNoLeader)
	}
	return &apiPort{p.net, p, p.net.at(leader.API)}, nil
}

// call carries a request and its answer. When either is lost the caller waits
// until its context ends, and the member may have done what it was asked for.
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
			replies <- reply{err: errRefused}
			return
		}
		if !a.net.passes(apiPlane, a.from, to) {
			return
		}
		// Of the caller only the deadline arrives for sure.
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

func (a *apiPort) AllocateBlock(ctx context.Context, sequence string, count uint64) (allocator.Block, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (allocator.Block, error) {
		return m.AllocateBlock(ctx, sequence, count)
	})
}

func (a *apiPort) ReturnBlock(ctx context.Context, sequence string, token, unused uint64) error {
	_, err := call(ctx, a, func(ctx context.Context, m *member.Member) (struct{}, error) {
		return struct{}{}, m.ReturnBlock(ctx, sequence, token, unused)
	})
	return err
}

func (a *apiPort) NextAtLeader(ctx context.Context, name string, count uint64, requestID string) (member.Numbering, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (member.Numbering, error) {
		return m.NextAtLeader(ctx, name, count, requestID)
	})
}

func (a *apiPort) LastAtLeader(ctx context.Context, name string) (last int64, ok bool, err error) {
	answer, err := call(ctx, a, func(ctx context.Context, m *member.Member) (*int64, error) {
		last, ok, err := m.LastAtLeader(ctx, name)
		if !ok {
			return nil, err
		}
		return &last, err
	})
	if answer == nil {
		return 0, false, err
	}
	return *answer, true, err
}

func (a *apiPort) CreateSequence(ctx context.Context, spec *commandv1.SequenceSpec, force bool) (member.Changed, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (member.Changed, error) {
		return m.CreateSequence(ctx, spec, force)
	})
}

func (a *apiPort) UpdateSequence(ctx context.Context, name string, change func(*commandv1.SequenceSpec) error, next *int64, force bool) (member.Changed, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (member.Changed, error) {
		return m.UpdateSequence(ctx, name, change, next, force)
	})
}

func (a *apiPort) DeleteSequence(ctx context.Context, name string) (member.Changed, error) {
	return call(ctx, a, func(ctx context.Context, m *member.Member) (member.Changed, error) {
		return m.DeleteSequence(ctx, name)
	})
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
