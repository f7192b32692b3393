package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

type idService struct {
	snowraftv1.UnimplementedIdServiceServer
	s *Server
}

func (i *idService) GenerateIds(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	count := max(req.GetCount(), 1)
	if limit := uint32(limits.Count); count > limit {
		return nil, invalid(fmt.Sprintf("count is %d, at most %d IDs are issued a call", count, limit))
	}
	if req.GetPacked() && count > limits.Packed {
		return nil, invalid(fmt.Sprintf("count is %d, at most %d packed IDs fit into an answer: ask for ranges, or for fewer", count, limits.Packed))
	}
	issuer, err := i.s.member.Issuer(ctx, req.GetLayout())
	if err != nil {
		return nil, err
	}
	scratch := ranges.Get().(*[]allocator.Range)
	defer ranges.Put(scratch)
	taken, err := issuer.Take(ctx, (*scratch)[:0], count, req.GetAfter())
	*scratch = taken
	if err != nil {
		return nil, err
	}
	i.s.metrics.issued(count)
	return idsResponse(taken, count, req.GetPacked()), nil
}

// ranges keeps the scratch space of GenerateIds between calls.
var ranges = sync.Pool{New: func() any { return new([]allocator.Range) }}

func idsResponse(taken []allocator.Range, count uint32, packed bool) *snowraftv1.GenerateIdsResponse {
	if packed {
		ids := make([]uint64, 0, count)
		for _, r := range taken {
			for id := range r.All() {
				ids = append(ids, id)
			}
		}
		return &snowraftv1.GenerateIdsResponse{Ids: ids}
	}
	if len(taken) == 1 {
		// Most answers are one range. They are allocated in one piece, which makes up for
		// what the interceptor allocates.
		one := &struct {
			resp   snowraftv1.GenerateIdsResponse
			ranges [1]*snowraftv1.IdRange
			only   snowraftv1.IdRange
		}{}
		one.only.First, one.only.Count, one.only.Step = taken[0].First, taken[0].Count, taken[0].Step
		one.ranges[0] = &one.only
		one.resp.Ranges = one.ranges[:]
		return &one.resp
	}
	resp := &snowraftv1.GenerateIdsResponse{}
	all := make([]snowraftv1.IdRange, len(taken))
	resp.Ranges = make([]*snowraftv1.IdRange, len(taken))
	for n, r := range taken {
		all[n].First, all[n].Count, all[n].Step = r.First, r.Count, r.Step
		resp.Ranges[n] = &all[n]
	}
	return resp
}

func (i *idService) StreamIds(stream snowraftv1.IdService_StreamIdsServer) error {
	return streamIDs(stream, i.GenerateIds)
}

func streamIDs(stream snowraftv1.IdService_StreamIdsServer,
	generate func(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error)) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(stream.Context(), limits.CallTimeout)
		resp, err := generate(ctx, req.GetRequest())
		cancel()
		if err != nil {
			return err
		}
		if err := stream.Send(&snowraftv1.StreamIdsResponse{Response: resp}); err != nil {
			return err
		}
	}
}

// layout finds a layout of the cluster, or a preset, which can decode without being created.
func (i *idService) layout(ctx context.Context, name string) (*snowflake.Layout, error) {
	l, err := i.s.member.Layout(ctx, name)
	if err != nil {
		if preset, ok := snowflake.Preset(name); ok {
			return preset, nil
		}
	}
	return l, err
}

func (i *idService) DecodeId(ctx context.Context, req *snowraftv1.DecodeIdRequest) (*snowraftv1.DecodeIdResponse, error) {
	l, err := i.layout(ctx, req.GetLayout())
	if err != nil {
		return nil, err
	}
	p, err := l.Unpack(req.GetId())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.DecodeIdResponse{
		Id: req.GetId(), Layout: l.Name(), TimestampMs: l.MillisAt(p.Tick), Tick: p.Tick,
		Datacenter: p.Datacenter, Worker: p.Worker, Sequence: p.Sequence,
	}, nil
}

func (i *idService) WhoIs(ctx context.Context, req *snowraftv1.WhoIsRequest) (*snowraftv1.WhoIsResponse, error) {
	l, err := i.s.member.Layout(ctx, req.GetLayout())
	if err != nil {
		return nil, err
	}
	p, err := l.Unpack(req.GetId())
	if err != nil {
		return nil, err
	}
	if own := l.Spec().Datacenter; p.Datacenter != own {
		return nil, &rpc.Error{Code: codes.NotFound, Reason: rpc.NotGranted,
			Message: fmt.Sprintf("the ID is of datacenter %d, this cluster issues for %d", p.Datacenter, own)}
	}
	term := i.s.member.Node().LeadingTerm()
	var record fsm.GrantRecord
	var found bool
	i.s.member.State().View(func(s *fsm.State) { record, found = s.WhoIs(l.Name(), p.Worker, p.Tick) })
	if err := i.s.member.Node().Verify(ctx, term); err != nil {
		return nil, err
	}
	if !found {
		return nil, &rpc.Error{Code: codes.NotFound, Reason: rpc.NotGranted,
			Message: fmt.Sprintf("no window of worker %d at %s was granted, or it is older than the history reaches", p.Worker, l.TimeOf(req.GetId()).Format("2006-01-02T15:04:05.000Z"))}
	}
	return &snowraftv1.WhoIsResponse{Grant: workerGrant(l, record)}, nil
}
