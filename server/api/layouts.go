package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

type layouts struct {
	snowraftv1.UnimplementedLayoutServiceServer
	*Services
}

func (l layouts) CreateLayout(ctx context.Context, req *snowraftv1.CreateLayoutRequest) (*snowraftv1.CreateLayoutResponse, error) {
	spec, err := layoutSpec(req.GetLayout())
	if err != nil {
		return nil, err
	}
	created, err := l.Member.CreateLayout(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.CreateLayoutResponse{Layout: layoutMessage(created)}, nil
}

// GetLayout answers a forwarded call as the leader: the forwarding member does not have the layout.
func (l layouts) GetLayout(ctx context.Context, req *snowraftv1.GetLayoutRequest) (*snowraftv1.GetLayoutResponse, error) {
	look := l.Member.Layout
	if trust.RelayOf(ctx) != "" {
		look = l.Member.LayoutAtLeader
	}
	found, err := look(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.GetLayoutResponse{Layout: layoutMessage(found)}, nil
}

func (l layouts) ListLayouts(_ context.Context, req *snowraftv1.ListLayoutsRequest) (*snowraftv1.ListLayoutsResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	resp := &snowraftv1.ListLayoutsResponse{}
	l.Member.State().View(func(s *fsm.State) {
		for _, info := range s.Layouts() {
			if info.Layout.Name() <= req.GetPageToken() {
				continue
			}
			if len(resp.Layouts) == size {
				resp.NextPageToken = resp.Layouts[size-1].GetName()
				return
			}
			resp.Layouts = append(resp.Layouts, layoutMessage(info.Layout))
		}
	})
	return resp, nil
}

func layoutSpec(m *snowraftv1.Layout) (snowflake.Spec, error) {
	for _, f := range m.GetFields() {
		if f.GetBits() > 64 || f.GetKind() <= 0 || f.GetKind() > snowraftv1.FieldKind_FIELD_KIND_SEQUENCE {
			return snowflake.Spec{}, wire.Invalid(fmt.Sprintf("field %s with %d bits: expected time, datacenter, worker or sequence with 1 to 63 bits", f.GetKind(), f.GetBits()))
		}
	}
	spec := rpc.Spec(m)
	_, err := snowflake.New(spec)
	return spec, err
}

func layoutMessage(l *snowflake.Layout) *snowraftv1.Layout {
	m := rpc.Layout(l.Spec())
	m.ExhaustsAtMs = l.ExhaustsAt()
	return m
}

// EnsureLayout returns the cluster's layout with the name of spec. If there is no such layout, it creates the layout with the
// rights of this member. An existing layout of that name may differ from spec.
func (s *Services) EnsureLayout(ctx context.Context, spec snowflake.Spec) (*snowflake.Layout, error) {
	found, err := s.Member.Layout(ctx, spec.Name)
	if _, unknown := errors.AsType[*member.UnknownLayoutError](err); !unknown {
		return found, err
	}
	const method = snowraftv1.LayoutService_CreateLayout_FullMethodName
	req := &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(spec)}
	a, err := trust.Member(s.Member.Node().ID()).Admit(kernel.Needed(rpc.RuleOf(method), req))
	if err != nil {
		return nil, err
	}
	if _, err = lead(trust.WithAdmission(ctx, a), s, method, req, layouts{Services: s}.CreateLayout); err != nil {
		return nil, err
	}
	return s.Member.Layout(ctx, spec.Name)
}
