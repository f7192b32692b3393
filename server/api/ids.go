package api

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
)

// ids is the IdService of a member.
type ids struct {
	IDs
	*Services
}

// layout returns a layout of the cluster, or otherwise a preset. A preset can decode IDs even if the cluster has no such layout.
func (i ids) layout(ctx context.Context, name string) (*snowflake.Layout, error) {
	l, err := i.Member.Layout(ctx, name)
	if err != nil {
		if preset, ok := snowflake.Preset(name); ok {
			return preset, nil
		}
	}
	return l, err
}

func (i ids) DecodeId(ctx context.Context, req *snowraftv1.DecodeIdRequest) (*snowraftv1.DecodeIdResponse, error) {
	id, err := wire.Bits("id", req.GetId())
	if err != nil {
		return nil, err
	}
	l, err := i.layout(ctx, req.GetLayout())
	if err != nil {
		return nil, err
	}
	p, err := l.Unpack(id)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.DecodeIdResponse{
		Id: req.GetId(), Layout: l.Name(), TickAtMs: l.MillisAt(p.Tick), Tick: p.Tick,
		Datacenter: p.Datacenter, Worker: p.Worker, Sequence: p.Sequence,
	}, nil
}

func (i ids) WhoIs(ctx context.Context, req *snowraftv1.WhoIsRequest) (*snowraftv1.WhoIsResponse, error) {
	id, err := wire.Bits("id", req.GetId())
	if err != nil {
		return nil, err
	}
	l, err := i.Member.Layout(ctx, req.GetLayout())
	if err != nil {
		return nil, err
	}
	p, err := l.Unpack(id)
	if err != nil {
		return nil, err
	}
	if own := l.Spec().Datacenter; p.Datacenter != own {
		return nil, rpc.NewError(rpc.NotGranted,
			fmt.Sprintf("the ID has datacenter %d, and this cluster issues IDs for datacenter %d", p.Datacenter, own))
	}
	now := l.TickAt(i.Member.Clock().Majority())
	term := i.Member.Node().LeadingTerm()
	resp := &snowraftv1.WhoIsResponse{}
	i.Member.State().View(func(s *fsm.State) {
		if job, ok := s.BackfillAt(l.Name(), p.Worker, p.Tick); ok {
			resp.Backfill = backfillMessage(l, job)
			return
		}
		record, ok := s.WhoIs(l.Name(), p.Worker, p.Tick)
		if !ok {
			return
		}
		last := s.Workers(l.Name(), p.Worker, 1)[0]
		resp.Grant = workerGrant(l, record, last, now)
		previous, next := s.Neighbors(l.Name(), p.Worker, record.Token)
		if previous.Token != 0 {
			resp.Previous = workerGrant(l, previous, last, now)
		}
		if next.Token != 0 {
			resp.Next = workerGrant(l, next, last, now)
		}
	})
	if err := i.Member.Node().Verify(ctx, term); err != nil {
		return nil, err
	}
	if resp.GetGrant() == nil && resp.GetBackfill() == nil {
		return nil, rpc.NewError(rpc.NotGranted,
			fmt.Sprintf("the history has no window of worker %d at %s; the ID was never issued, or is older than the history", p.Worker, l.TimeOf(id).Format("2006-01-02T15:04:05.000Z")))
	}
	return resp, nil
}
